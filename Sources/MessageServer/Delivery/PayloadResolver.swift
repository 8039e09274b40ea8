import BalloonPOSIX
import BusinessMessages
import MessageStore

/// Fetches the payloads behind references: stage `resolve`, outside the conversations' order.
///
/// References expire within seconds, so each is downloaded as soon as it is durable, even when its
/// conversation waits.
struct PayloadResolver: Sendable {
    let store: Store
    let fetcher: PayloadFetcher
    let observer: any StageObserver

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
        var stages = DeliveryStages(pending, observer)
        stages.begin(.resolve)
        let resolution = await resolution(of: pending)
        // When the server is stopping the reference stays pending: the next start retries it.
        guard let resolution, !Task.isCancelled else { return }
        do {
            try await keepTrying(store) { try await store.resolve(pending, resolution) }
        } catch {
            // The store or the task was stopped: the reference stays pending, and the next start retries it.
            return
        }
        if case .failed(let reason) = resolution {
            stages.end(.failed(reason: reason))
        } else {
            stages.end(.done)
        }
    }

    private func resolution(of pending: UnrecordedMessage) async -> Resolution? {
        // Two processes crashed while they fetched this payload: its reference has expired, and a third attempt might
        // crash this process too.
        if pending.isSuspect { return .failed(reason: "the process crashed while the payload was fetched") }
        return await fetcher.fetch(
            pending.message, pending.id, of: pending.business, receivedAt: pending.receivedAt)
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
