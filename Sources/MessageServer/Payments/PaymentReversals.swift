import BalloonPOSIX
import BusinessMessages
import Logging
import MessageStore
import Payments
import Synchronization

/// Asks handlers to reverse attempts whose charge may exist although the device was told of a failure.
///
/// The attempts are in the open requests, so that the work continues after a restart. A failed reversal is
/// retried with growing waits until the handler confirms it. When the lifetime of replies is over, the
/// reversal becomes a dead letter, and an operator must look at the payment provider.
final class PaymentReversals: Sendable {
    private struct State {
        /// The attempts that are being reversed, each by a task.
        var running: Set<String> = []
        /// The attempts that must not be reversed yet, because a call of the handler may still charge.
        ///
        /// The value is the number of ``beginCall(_:)`` without an ``endCall(_:)``.
        var calls: [String: Int] = [:]
        /// The number of dead letters by business, as of the latest search.
        var deadLetters: [BusinessID: Int] = [:]
    }

    private let requests: OpenRequests
    private let settings: PaymentSettings
    private let handlers: any PaymentHandling
    private let records: PaymentRecords
    private let clock: PaymentClock
    private let logger: Logger
    private let lifetime: Duration
    private let backoff: Backoff
    private let state = Mutex(State())
    private let wakeUps: AsyncStream<Void>
    private let wakeUp: AsyncStream<Void>.Continuation

    /// The interval between searches for attempts to reverse.
    private static let interval = Duration.seconds(30)

    init(
        requests: OpenRequests, settings: PaymentSettings, handlers: any PaymentHandling,
        records: PaymentRecords, clock: PaymentClock = PaymentClock(),
        lifetime: Duration = .seconds(72 * 3600),
        backoff: Backoff = Backoff(from: .seconds(1), to: .seconds(600), jitter: 0.5...1), logger: Logger
    ) {
        self.requests = requests
        self.settings = settings
        self.handlers = handlers
        self.records = records
        self.clock = clock
        self.lifetime = lifetime
        self.backoff = backoff
        self.logger = logger
        (wakeUps, wakeUp) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Makes ``run()`` search for reversals now.
    func wake() { wakeUp.yield() }

    /// The number of dead letters by business, as of the latest search; a search runs every 30 s.
    var deadLetters: [BusinessID: Int] { state.withLock(\.deadLetters) }

    /// Delays the reversal of an attempt while its handler's call may run, until ``endCall(_:)``.
    func beginCall(_ attempt: String) { state.withLock { $0.calls[attempt, default: 0] += 1 } }

    /// Allows the reversal of an attempt whose call has ended.
    func endCall(_ attempt: String) {
        state.withLock { state in
            let users = (state.calls[attempt] ?? 1) - 1
            state.calls[attempt] = users == 0 ? nil : users
        }
        wake()
    }

    /// Reverses charges until ``stop()``.
    ///
    /// An attempt that was begun but has no call in this process becomes a reversal. This happens after a
    /// crash or an error of the disk.
    func run() async {
        await withDiscardingTaskGroup { group in
            group.addTask { [self] in
                // A cancelled sleep ends the loop.
                while (try? await clock.sleep(Self.interval)) != nil { wake() }
            }
            wake()
            for await _ in wakeUps {
                for (name, attempt) in await search() {
                    group.addTask { [self] in await reverse(attempt, of: name) }
                }
            }
            group.cancelAll()
        }
    }

    /// Ends ``run()``; open reversals continue after a restart.
    func stop() { wakeUp.finish() }

    /// Returns the attempts that must be reversed and have no task yet.
    private func search() async -> [(RequestName, String)] {
        var found: [(RequestName, String)] = []
        do {
            var deadLetters: [BusinessID: Int] = [:]
            for name in try await requests.busyPayments() {
                let (business, due, dead) = try await due(name)
                found += due.map { (name, $0) }
                if let business, dead > 0 { deadLetters[business, default: 0] += dead }
            }
            state.withLock { [deadLetters] in $0.deadLetters = deadLetters }
        } catch {
            logger.warning(
                "payments to reverse cannot be read; reading is retried", metadata: ["error": "\(error)"])
        }
        return state.withLock { state in
            found.filter { _, id in state.calls[id] == nil && state.running.insert(id).inserted }
        }
    }

    /// Returns the attempts of a request that must be reversed, and the number of its dead letters.
    private func due(
        _ name: RequestName
    ) async throws -> (business: BusinessID?, attempts: [String], dead: Int) {
        let clock = clock
        return try await requests.update(name) { [self] request, _ in
            guard var payload = request?.paymentPayload else { return (nil, [], 0) }
            let now = clock.now()
            // Read the calls inside the update, because no attempt of this request can begin meanwhile.
            let calls = Set(state.withLock(\.calls).keys)
            let isRecovered = payload.payment.recover(at: now, except: calls)
            let isOverdue = payload.payment.reverseUntold(at: now)
            if isOverdue || isRecovered { request?.set(payload) }
            let dead = payload.payment.attempts.count { $0.state == .unreversed }
            return (request?.business, payload.payment.reversals.map(\.id), dead)
        }
    }

    private func reverse(_ id: String, of name: RequestName) async {
        defer { state.withLock { _ = $0.running.remove(id) } }
        var failures = 0
        while !Task.isCancelled {
            do {
                guard let (request, payload) = try await open(name),
                    let attempt = payload.payment.attempts.first(where: { $0.id == id }),
                    attempt.state == .reversing
                else { return }
                failures = max(failures, attempt.failures)
                let isConfirmed = await ask(request, payload, attempt)
                if Task.isCancelled { return }
                let isLast = clock.now() >= attempt.changedAt.advanced(by: lifetime)
                try await record(id, name, request, isConfirmed: isConfirmed, isLast: isLast)
                if isConfirmed || isLast { return }
            } catch {
                logger.warning(
                    "reversal of a charge could not be recorded; recording is retried",
                    metadata: ["error": "\(error)"])
            }
            failures += 1
            guard (try? await clock.sleep(backoff.delay(after: failures))) != nil else { return }
        }
    }

    private func open(_ name: RequestName) async throws -> (OpenRequest, PaymentPayload)? {
        let request = try await onDisk { [requests] in try requests.find(name) }
        guard let request, let payload = request.paymentPayload else { return nil }
        return (request, payload)
    }

    /// Asks the handler to reverse a charge; returns whether the handler confirms that no charge exists.
    private func ask(_ request: OpenRequest, _ payload: PaymentPayload, _ attempt: PaymentAttempt) async
        -> Bool
    {
        guard let sheet = PaymentSheet(json: payload.payment.sheet) else { return false }
        let call = PaymentHandlerCall(
            business: request.business, customer: request.customer,
            message: payload.message, requestIdentifier: request.requestIdentifier, request: payload.request,
            callback: nil, sheet: sheet, attempt: attempt)
        let isConfirmed = await clock.run(within: PaymentFlow.timeLimit) { [handlers] isDecided -> Bool? in
            do { try await handlers.reverse(call) } catch { return nil }
            return isDecided.claim() ? true : nil
        }
        return isConfirmed ?? false
    }

    private func record(
        _ id: String, _ name: RequestName, _ request: OpenRequest, isConfirmed: Bool, isLast: Bool
    ) async throws {
        let clock = clock
        let payment = try await requests.update(name) { request, _ -> Payment? in
            guard var payload = request?.paymentPayload else { return nil }
            payload.payment.reverse(id, isConfirmed: isConfirmed, isLast: isLast, at: clock.now())
            request?.set(payload)
            return payload.payment
        }
        let slug = settings[request.business]?.slug ?? "removed"
        guard let payment, let attempt = payment.attempts.first(where: { $0.id == id }) else { return }
        if isConfirmed || isLast {
            await records.append(
                PaymentRecords.Line(
                    at: clock.now(), requestIdentifier: request.requestIdentifier, customer: request.customer,
                    currency: payment.currency, attempt: attempt), slug: slug)
        }
        let metadata: Logger.Metadata = [
            "business": "\(slug)", "attempt": "\(id)", "failures": "\(attempt.failures)",
        ]
        if isConfirmed {
            logger.notice("payment reversed", metadata: metadata)
        } else if isLast {
            wake()
            logger.error(
                "payment not reversed; look for the attempt at the payment provider, then run balloon deadletters retry or drop",
                metadata: metadata)
        } else {
            logger.warning("handler did not reverse a charge; it is asked again", metadata: metadata)
        }
    }
}
