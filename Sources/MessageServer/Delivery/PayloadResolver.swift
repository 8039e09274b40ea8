import BalloonMetrics
import BalloonPOSIX
import BusinessMessages
import GatewayClient
import Logging
import MessageStore

/// Fetches the payloads behind references: stage `resolve`, outside the conversations' order.
///
/// References expire within seconds, so each is downloaded as soon as it is durable, even when its
/// conversation waits.
struct PayloadResolver: Sendable {
    let store: Store
    let gateway: GatewayClient
    let observer: any StageObserver
    let logger: Logger
    /// The number of references that expired before their download.
    let expired = Counter()
    /// The time limit of one payload, including all attempts.
    var deadline = Duration.seconds(20)

    /// Resolves references until the store closes or the task is cancelled.
    ///
    /// The store limits the references that are leased at the same time, and divides them among businesses.
    func run() async {
        await withDiscardingTaskGroup { group in
            while let reference = await store.nextReference() {
                group.addTask {
                    await resolve(reference)
                    store.release(reference)
                }
            }
        }
    }

    private func resolve(_ pending: UnrecordedMessage) async {
        var clock = StageClock()
        clock.begin(.resolve)
        let resolution = await resolution(of: pending)
        // When the server is stopping the reference stays pending: the next start retries it.
        guard let resolution, !Task.isCancelled else { return }
        var event = StageEvent(
            stage: .resolve, result: .done, nanoseconds: 0, business: pending.business, message: pending.id,
            delivery: pending.record)
        if observer.wantsDetails {
            event.customer = pending.customer
            event.bytes = pending.message.count
        }
        if case .failed(let reason) = resolution { event.result = .failed(reason: reason) }
        do {
            try await keepTrying(store) { try await store.resolve(pending, resolution) }
        } catch {
            // The store or the task was stopped: the reference stays pending, and the next start retries it.
            return
        }
        event.nanoseconds = clock.sinceBegun
        observer.observe(event)
    }

    private func resolution(of pending: UnrecordedMessage) async -> Resolution? {
        // Two processes crashed while they fetched this payload: its reference has expired, and a third attempt might
        // crash this process too.
        if pending.isSuspect { return .failed(reason: "the process crashed while the payload was fetched") }
        guard let message = try? JSONDocument(pending.message, limits: .stored),
            let reference = PayloadReference(message: message)
        else { return .failed(reason: "the reference lacks url, owner or key") }
        do {
            let decoded = try await keepAsking(until: .now + deadline) { rest async throws(GatewayError) in
                try await gateway.resolve(reference, for: pending.business, within: rest)
            }
            guard let document = try? JSONDocument(decoded, limits: .stored),
                let resolved = resolving(message: message, with: document)
            else { return .failed(reason: "the decoded payload is not a JSON object") }
            return .resolved(message: resolved)
        } catch {
            if Task.isCancelled { return nil }
            // After a retryable error, all retries until the deadline have failed, and by then the reference has
            // expired.
            guard error.isAboutExpiry || error.isRetryable else { return .failed(reason: "\(error)") }
            // The customer's choice is lost. When the server is too slow in general, later choices will be
            // lost too.
            logger.error(
                "payload reference expired before its download; message content lost",
                metadata: [
                    "business": "\(pending.business.rawValue)", "message": "\(pending.id.rawValue)",
                    "age_ms": "\(Timestamp.now().milliseconds - pending.receivedAt.milliseconds)",
                    "expired": "\(expired.add())",
                ])
            return .failed(reason: Resolution.expiredPrefix + "\(error)")
        }
    }
}

/// The waits between the retries of a failed write, which never end: a full disk may get space again.
let diskBackoff = Backoff(from: .milliseconds(100), to: .seconds(10))

/// Repeats `work` until the store accepts it, since a full disk may get space again.
///
/// Throws errors that a retry cannot repair, and the store's last error when it stops or the task is
/// cancelled; a restart then resumes from the journal.
func keepTrying(_ store: Store, _ work: @Sendable () async throws -> Void) async throws {
    var backoff = diskBackoff
    while true {
        do {
            return try await work()
        } catch let error as StoreError where error.isTransient {
            guard await store.pause(for: backoff.fail()) else { throw error }
        }
    }
}

extension JSONLimits {
    /// The limits for parsing stored messages, which were validated when they arrived and may contain a resolved
    /// payload.
    static let stored = JSONLimits(maximumDepth: 256, maximumBytes: 128 << 20, maximumNodes: 8 << 20)
}
