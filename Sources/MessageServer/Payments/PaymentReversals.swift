import BalloonPOSIX
import BusinessMessages
import Logging
import MessageStore
import Payments
import Synchronization

/// Asks handlers to reverse attempts whose charge may exist although the device was told of a failure.
///
/// The attempts are in the open requests, so that the work continues after a restart. The reversal of an
/// uncertain attempt is requested at once, so that the handler can refuse the later charge, and decides
/// nothing. When the attempt can no longer charge, a reversal is requested again. A failed reversal is
/// retried with growing waits until the handler confirms it. When the lifetime of replies is over, the
/// reversal becomes a dead letter, and an operator must look at the payment provider.
final class PaymentReversals: Sendable {
    /// The reversals of an attempt in one of its states; a reversal decides only about its own round.
    private struct Round: Hashable {
        let attempt: String
        let turn: Int

        init(_ attempt: PaymentAttempt) { (self.attempt, turn) = (attempt.id, attempt.turn) }
    }

    private struct State {
        /// The rounds that have a task.
        var running: Set<Round> = []
        /// The attempts with a call of the handler, or an answer to the device, that has not ended.
        ///
        /// The value is the number of ``beginCall(_:)`` without an ``endCall(_:)``.
        var calls: [String: Int] = [:]
        /// The uncertain attempts whose reversal the handler has confirmed, so that it is not asked again yet.
        var forewarned: Set<Round> = []
        /// The number of dead letters by business, as of the latest search.
        var deadLetters: [BusinessID: Int] = [:]
    }

    private let requests: OpenRequests
    private let settings: PaymentSettings
    private let handlers: any PaymentHandling
    private let records: PaymentRecords
    private let clock: PaymentClock
    private let logger: Logger
    private let lifetime: @Sendable () -> Duration
    private let backoff: Backoff
    private let timings: PaymentTimings
    private let state = Mutex(State())
    /// The start of the server by the steady clock, because the clock of a machine is often set after its boot.
    private let start: ContinuousClock.Instant
    private let (wakeUps, wakeUp) = AsyncStream.makeStream(
        of: Void.self, bufferingPolicy: .bufferingNewest(1))

    init(
        requests: OpenRequests, settings: PaymentSettings, handlers: any PaymentHandling,
        records: PaymentRecords, clock: PaymentClock = PaymentClock(),
        lifetime: @escaping @Sendable @autoclosure () -> Duration = .seconds(72 * 3600),
        backoff: Backoff = Backoff(from: .seconds(1), to: .seconds(600), jitter: 0.5...1),
        timings: PaymentTimings = PaymentTimings(), logger: Logger
    ) {
        self.requests = requests
        self.settings = settings
        self.handlers = handlers
        self.records = records
        self.clock = clock
        self.lifetime = lifetime
        self.backoff = backoff
        self.timings = timings
        start = clock.steady()
        self.logger = logger
    }

    /// Makes ``run()`` search for reversals now.
    func wake() { wakeUp.yield() }

    /// The number of dead letters by business, as of the latest search; a search runs every 30 s.
    var deadLetters: [BusinessID: Int] { state.withLock(\.deadLetters) }

    /// Delays the decision about an attempt while its handler's call may charge, until ``endCall(_:)``.
    func beginCall(_ attempt: String) { state.withLock { $0.calls[attempt, default: 0] += 1 } }

    /// Allows the decision about an attempt whose call has ended.
    func endCall(_ attempt: String) {
        state.withLock { state in
            let users = (state.calls[attempt] ?? 1) - 1
            state.calls[attempt] = users == 0 ? nil : users
        }
        wake()
    }

    /// Reverses charges until ``stop()``.
    ///
    /// An attempt that was begun but has no call in this process becomes uncertain. This happens after a
    /// crash or an error of the disk.
    func run() async {
        await withDiscardingTaskGroup { group in
            wake()
            var timer: Task<Void, Never>?
            for await _ in wakeUps {
                timer?.cancel()
                let (found, rest) = await search()
                for (name, round) in found {
                    group.addTask { [self] in await reverse(round, of: name) }
                }
                timer = Task { [self] in
                    // A cancelled sleep means that a search came earlier.
                    if (try? await clock.sleep(rest)) != nil { wake() }
                }
            }
            timer?.cancel()
            group.cancelAll()
        }
    }

    /// Ends ``run()``; open reversals continue after a restart.
    func stop() { wakeUp.finish() }

    /// The state of one request's attempts after the passing of time.
    private struct Look: Sendable {
        let request: OpenRequest
        let payment: Payment
        let changed: [PaymentAttempt]
        let next: Timestamp?
    }

    /// Returns the attempts that must be reversed and have no task yet, and the time until the next search.
    private func search() async -> (found: [(RequestName, Round)], rest: Duration) {
        var found: [(RequestName, Round)] = []
        var uncertain: Set<Round> = []
        var rest = timings.search
        do {
            var deadLetters: [BusinessID: Int] = [:]
            for name in try await requests.busyPayments() {
                guard let look = try await look(at: name) else { continue }
                let (business, payment) = (look.request.business, look.payment)
                for attempt in look.changed {
                    await records.append(
                        attempt.id, of: payment, in: look.request, at: clock.now(), slug: slug(of: business))
                }
                found += payment.reversals.map { (name, Round($0)) }
                uncertain.formUnion(payment.attempts.filter { $0.state == .uncertain }.map { Round($0) })
                let dead = payment.attempts.count { $0.state == .unreversed }
                if dead > 0 { deadLetters[business, default: 0] += dead }
                if let next = look.next {
                    rest = min(rest, max(.zero, .milliseconds(next.milliseconds - clock.now().milliseconds)))
                }
            }
            state.withLock { [deadLetters] in $0.deadLetters = deadLetters }
        } catch {
            logger.warning(
                "payments to reverse cannot be read; reading is retried", metadata: ["error": "\(error)"])
        }
        let due = state.withLock { state in
            state.forewarned.formIntersection(uncertain)
            return found.filter { _, round in
                !state.forewarned.contains(round) && state.running.insert(round).inserted
            }
        }
        return (due, rest)
    }

    private func slug(of business: BusinessID) -> String { settings[business]?.slug ?? "removed" }

    /// Applies the passing of time to a request's attempts.
    private func look(at name: RequestName) async throws -> Look? {
        let (clock, timings, lifetime) = (clock, timings, lifetime())
        return try await requests.update(name) { [self] request, _ in
            guard let open = request, var payload = open.paymentPayload else { return nil }
            let now = clock.now()
            let start = now.advanced(by: self.start - clock.steady())
            // Read the calls inside the update, because no attempt of this request can begin meanwhile.
            let calls = Set(state.withLock(\.calls).keys)
            let before = payload.payment
            let changed = payload.payment.advance(
                at: now, since: start, open: calls, lifetime: lifetime, timings)
            let payment = payload.payment
            if payment != before { request?.set(payload) }
            return Look(
                request: open, payment: payment, changed: changed,
                next: payment.nextAdvance(since: start, open: calls, lifetime: lifetime, timings))
        }
    }

    /// Asks for the reversal until it is confirmed, or until the attempt changes.
    private func reverse(_ round: Round, of name: RequestName) async {
        defer { state.withLock { _ = $0.running.remove(round) } }
        var failures = 0
        while !Task.isCancelled {
            do {
                guard let (request, payload) = try await open(name),
                    let attempt = payload.payment.attempts.first(where: { Round($0) == round })
                else { return }
                failures = max(failures, attempt.failures)
                let isConfirmed = await ask(request, payload, attempt)
                if Task.isCancelled { return }
                if attempt.state == .reversing {
                    let isLast = clock.now() >= attempt.changedAt.advanced(by: lifetime())
                    try await record(round, name, request, isConfirmed: isConfirmed, isLast: isLast)
                    if isConfirmed || isLast { return }
                } else if isConfirmed {
                    state.withLock { _ = $0.forewarned.insert(round) }
                    return
                }
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
        guard let sheet = PaymentSheet(json: payload.payment.shown.sheet) else { return false }
        let call = PaymentHandlerCall(
            business: request.business, customer: request.customer,
            message: payload.message, requestIdentifier: request.requestIdentifier, request: payload.request,
            callback: nil, sheet: sheet, attempt: attempt)
        let isConfirmed = await clock.run(within: timings.answer) { [handlers] isDecided -> Bool? in
            do { try await handlers.reverse(call) } catch { return nil }
            return isDecided.claim() ? true : nil
        }
        return isConfirmed ?? false
    }

    private func record(
        _ round: Round, _ name: RequestName, _ request: OpenRequest, isConfirmed: Bool, isLast: Bool
    ) async throws {
        let (clock, id, turn) = (clock, round.attempt, round.turn)
        let changed = try await requests.update(name) { request, _ -> (OpenRequest, Payment)? in
            guard var payload = request?.paymentPayload else { return nil }
            payload.payment.reverse(
                id, begunIn: turn, isConfirmed: isConfirmed, isLast: isLast, at: clock.now())
            request?.set(payload)
            return request.map { ($0, payload.payment) }
        }
        let slug = slug(of: request.business)
        guard let (request, payment) = changed, let attempt = payment.attempt(id) else { return }
        let metadata: Logger.Metadata = [
            "business": "\(slug)", "attempt": "\(id)", "failures": "\(attempt.failures)",
        ]
        guard attempt.turn != turn else {
            return logger.warning("handler did not reverse a charge; it is asked again", metadata: metadata)
        }
        // Only this call or a late answer of the attempt's own call has changed the state.
        await records.append(id, of: payment, in: request, at: clock.now(), slug: slug)
        switch attempt.state {
        case .reversed: logger.notice("payment reversed", metadata: metadata)
        case .unreversed:
            wake()
            logger.error(
                "payment not reversed; look for the attempt at the payment provider, then run balloon deadletters retry or drop",
                metadata: metadata)
        case .begun, .uncertain, .succeeded, .failed, .reversing, .dropped: break
        }
    }
}
