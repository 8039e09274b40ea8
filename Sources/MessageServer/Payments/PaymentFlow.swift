import BalloonJSON
import BalloonPOSIX
import BusinessMessages
import HandlerKit
import Logging
import MessageStore
import Payments
import Synchronization

/// Processes the requests that customers' devices send to the payment endpoints.
///
/// An attempt is durable before the handler is called, and its outcome is durable before the device gets the
/// answer. Equal gateway calls share one call of the handler and its answer. Updates of one request run one
/// after another, each until its answer was sent or lost, and a gateway call waits for them.
final class PaymentFlow: Sendable {
    /// The answer to a device.
    enum Answer: Sendable, Equatable {
        /// 200 with this JSON.
        case json([UInt8])
        /// 200 without JSON.
        case ok
        /// 404: no such request, or an endpoint that the handler does not implement.
        case notFound
        /// 400: the body cannot be read.
        case badRequest
        /// 503: too many callbacks are in progress.
        case busy
    }

    /// An answer, and a closure that is called with true when the answer was sent, or with false when the
    /// connection is closed.
    struct Reply: Sendable {
        let answer: Answer
        var wasDelivered: (@Sendable (Bool) -> Void)?
    }

    /// The maximum number of callbacks at a time; further ones get 503.
    static let maximumCallbacks = 2048
    /// The maximum number of updates of one request at a time.
    static let maximumUpdates = 8

    private struct Found: Sendable {
        let name: RequestName
        let business: PaymentSettings.Business
        let customer: CustomerID
    }

    /// The task that answers an attempt, and the number of the device's posts that wait for the answer.
    private final class SharedAttempt: Sendable {
        private struct State {
            var posts = 0
            var isDelivered = false
        }

        let task: Task<(answer: [UInt8], isSuccess: Bool), Never>
        private let state = Mutex(State())

        init(_ work: @escaping @Sendable () async -> (answer: [UInt8], isSuccess: Bool)) {
            task = Task { @concurrent in await work() }
        }

        var posts: Int { state.withLock(\.posts) }
        /// Whether any of the answers was delivered.
        var isDelivered: Bool { state.withLock(\.isDelivered) }

        func join() { state.withLock { $0.posts += 1 } }

        /// Counts a post as answered; returns whether it was the last one.
        func leave(isDelivered: Bool) -> Bool {
            state.withLock { state in
                state.posts -= 1
                state.isDelivered = state.isDelivered || isDelivered
                return state.posts == 0
            }
        }
    }

    private struct Lane {
        let turn = AsyncSemaphore(1)
        var users = 0
    }

    private struct State {
        var running = 0
        var attempts: [String: SharedAttempt] = [:]
        var lanes: [RequestName: Lane] = [:]
    }

    private let requests: OpenRequests
    private let settings: PaymentSettings
    private let handlers: any PaymentHandling
    private let reversals: PaymentReversals
    private let records: PaymentRecords
    private let tokens: PaymentTokens
    private let clock: PaymentClock
    private let timings: PaymentTimings
    private let logger: Logger
    private let state = Mutex(State())

    init(
        requests: OpenRequests, settings: PaymentSettings, handlers: any PaymentHandling,
        reversals: PaymentReversals, records: PaymentRecords, tokens: PaymentTokens = PaymentTokens(),
        clock: PaymentClock = PaymentClock(), timings: PaymentTimings = PaymentTimings(), logger: Logger
    ) {
        self.requests = requests
        self.settings = settings
        self.handlers = handlers
        self.reversals = reversals
        self.records = records
        self.tokens = tokens
        self.clock = clock
        self.timings = timings
        self.logger = logger
    }

    /// Answers a device; `key` is the part of the path that names the request or the business.
    func answer(_ kind: PaymentCallback.Kind, key: String, _ body: [UInt8]) async -> Reply {
        guard enter() else { return Reply(answer: .busy) }
        defer { state.withLock { $0.running -= 1 } }
        // The error is dropped, because every unreadable body gets the same answer.
        guard let root = (try? JSONDocument(body))?.root, let callback = try? PaymentCallback(kind, root)
        else {
            return Reply(answer: .badRequest)
        }
        let found: Found?
        do { found = try await find(callback, key: key) } catch {
            log("payment callback failed; the request cannot be read", key: nil, "\(error)")
            return Reply(
                answer: .json(
                    kind == .paymentGateway ? PaymentFailure.uncertain.answer : Self.updateFailure))
        }
        // While the callbacks of a handler that is down are unknown, the call is made and fails.
        guard let found, handlers.callbacks(of: found.business.id)?.contains(kind) ?? true else {
            return Reply(answer: .notFound)
        }
        switch kind {
        case .paymentGateway: return await gateway(callback, found)
        case .orderTracking: return Reply(answer: await track(callback, found))
        case .paymentMethodUpdate, .shippingMethodUpdate, .shippingContactUpdate:
            return await update(callback, found)
        }
    }

    /// Returns the identifier, the business and the standing of the request that a key or a query names; nil
    /// for an unknown request.
    func fallback(key: String, request: String?) async throws -> (
        identifier: String, business: PaymentSettings.Business, standing: Payment.Standing
    )? {
        let isConstant = settings.business(slug: key) != nil
        guard let secret = isConstant ? request : key else { return nil }
        let name = RequestName(of: secret)
        guard let open = try await onDisk({ [requests] in try requests.find(name) }), open.kind == .payment,
            let business = settings[open.business], !isConstant || business.slug == key
        else { return nil }
        // A payment that cannot be read may have charged.
        return (open.requestIdentifier, business, open.paymentPayload?.payment.standing ?? .unclear)
    }

    /// The number of gateway calls whose answer is not decided or not delivered yet.
    var waitingPosts: Int { state.withLock { $0.attempts.values.reduce(0) { $0 + $1.posts } } }

    private func find(_ callback: PaymentCallback, key: String) async throws -> Found? {
        guard let open = try await fallback(key: key, request: callback.requestIdentifier),
            open.identifier == callback.requestIdentifier
        else { return nil }
        let isConstant = settings.business(slug: key) != nil
        let name = RequestName(of: isConstant ? callback.requestIdentifier : key)
        guard let request = try await onDisk({ [requests] in try requests.find(name) }) else { return nil }
        return Found(name: name, business: open.business, customer: request.customer)
    }

    private func gateway(_ callback: PaymentCallback, _ found: Found) async -> Reply {
        guard let token = callback.token else { return Reply(answer: .badRequest) }
        let id = PaymentAttempt.id(
            requestIdentifier: callback.requestIdentifier, encryptedData: token.encryptedData)
        let shared = state.withLock { state in
            let shared =
                state.attempts[id]
                ?? SharedAttempt { [self] in
                    // Begin the call before the attempt is recorded. Otherwise the attempt could be mistaken
                    // for one that an earlier process began.
                    reversals.beginCall(id)
                    let answer = await attempt(id, callback, found)
                    // A success stays open, also for repeated posts, until it is recorded whether the device
                    // got it.
                    if !answer.isSuccess {
                        self.state.withLock { $0.attempts[id] = nil }
                        reversals.endCall(id)
                    }
                    return answer
                }
            state.attempts[id] = shared
            shared.join()
            return shared
        }
        let (answer, isSuccess) = await shared.task.value
        return Reply(answer: .json(answer)) { [self] isDelivered in
            guard shared.leave(isDelivered: isDelivered), isSuccess else { return }
            Task { @concurrent in await tell(id, shared, found) }
        }
    }

    /// Closes a success for further posts, and returns whether the device got it; nil when another post waits
    /// for it, or it is already closed.
    private func close(_ id: String, _ shared: SharedAttempt) -> Bool? {
        state.withLock { state in
            guard state.attempts[id] === shared, shared.posts == 0 else { return nil }
            state.attempts[id] = nil
            return shared.isDelivered
        }
    }

    /// Returns the failure of a token that was not charged, `failure` unless an earlier attempt may have charged.
    private func unbegun(_ found: Found, _ failure: PaymentFailure) async -> (
        answer: [UInt8], isSuccess: Bool
    ) {
        // The error is dropped, because the device gets the same failure as for an unreadable payment.
        let reason: PaymentFailure =
            switch try? await payload(found)?.payment.standing {
            case .unpaid, .returned: failure
            case .paid: .paid
            case .unclear: .otherAttempt
            case nil: .uncertain
            }
        return (reason.answer, false)
    }

    /// Makes an attempt to pay, or returns the answer of an earlier one with the same identifier.
    private func attempt(
        _ id: String, _ callback: PaymentCallback, _ found: Found
    ) async -> (answer: [UInt8], isSuccess: Bool) {
        let clock = clock
        let begun = clock.now()
        let shippingMethod = callback.shippingMethod?.identifier
        let decryption = found.business.section.decryption
        var token: PaymentTokens.Opened?
        if let decryption {
            do { token = try await open(callback, id, found, with: decryption) } catch {
                log("payment token refused; the device gets a failure", key: found, "\(error)")
                return await unbegun(found, .notCharged)
            }
        }
        let opened = token
        let decided: (decision: Payment.GatewayDecision, payload: PaymentPayload, request: OpenRequest)?
        do {
            // The sum is known when the answer of a running update was sent or lost. Half of the device's
            // time remains for the charge.
            let afterUpdates = try await afterUpdates(of: found.name, within: timings.answer / 2) {
                try await requests.update(found.name) {
                    request, _ -> (
                        decision: Payment.GatewayDecision, payload: PaymentPayload, request: OpenRequest
                    )? in
                    guard let open = request, var payload = open.paymentPayload else { return nil }
                    let now = clock.now()
                    let sheet = PaymentSheet(json: payload.payment.shown.sheet)
                    let decision = payload.payment.begin(
                        attempt: id, transaction: opened?.transaction, shippingMethod: shippingMethod, at: now
                    ) { total in
                        guard decryption != nil else { return true }
                        guard let opened, let sheet else { return false }
                        return opened.isFor(total, on: sheet)
                    }
                    // This process has no call for the attempt, so an earlier process began it.
                    if case .join = decision { _ = payload.payment.settle(id, .lost, at: now) }
                    request?.set(payload)
                    return (decision, payload, open)
                }
            }
            guard let afterUpdates else {
                log("payment not begun; an update of its sheet has not ended", key: found, "update")
                return await unbegun(found, .totalChanged)
            }
            decided = afterUpdates
        } catch {
            log("payment not begun; the device gets a failure", key: found, "\(error)")
            return await unbegun(found, .notCharged)
        }
        guard let decided else { return (PaymentFailure.ended.answer, false) }
        switch decided.decision {
        case .call(let attempt):
            await records.append(
                line(attempt, callback, found, decided.payload.payment), of: decided.request,
                slug: found.business.slug)
            return await call(attempt, callback, found, decided.payload, opened, since: begun)
        case .repeated(let answer): return (answer, decided.payload.payment.paid?.id == id)
        case .join:
            reversals.wake()
            return (PaymentFailure.uncertain.answer, false)
        case .refused(let refusal):
            log("payment refused without a call of the handler", key: found, refusal.rawValue)
            return (refusal.failure.answer, false)
        }
    }

    /// Opens the token of a new attempt; nil for a known attempt, whose answer is repeated without opening
    /// the token.
    private func open(
        _ callback: PaymentCallback, _ id: String, _ found: Found,
        with decryption: ApplePayConfiguration.Decryption
    ) async throws -> PaymentTokens.Opened? {
        if try await payload(found)?.payment.attempts.contains(where: { $0.id == id }) == true { return nil }
        return try await tokens.open(callback, for: id, with: decryption, at: clock.now()).get()
    }

    private func call(
        _ attempt: PaymentAttempt, _ callback: PaymentCallback, _ found: Found, _ payload: PaymentPayload,
        _ token: PaymentTokens.Opened?, since begun: Timestamp
    ) async -> (answer: [UInt8], isSuccess: Bool) {
        guard let sheet = PaymentSheet(json: payload.payment.shown.sheet) else {
            return await settle(attempt.id, .notCalled, callback, found, nil)
        }
        let call = handlerCall(callback, found, payload, sheet, attempt, token)
        let departure = OnceFlag()
        // This task is not cancelled after its departure: only the call itself can say what it charged.
        let task = Task { @concurrent [self] in await outcome(of: call, departure, found) }
        let waited = Duration.milliseconds(clock.now().milliseconds - begun.milliseconds)
        let rest = min(timings.answer, max(.zero, timings.answer - waited))
        let inTime = await clock.run(within: rest) { isDecided -> Payment.Outcome? in
            let value = await task.value
            return isDecided.claim() ? value : nil
        }
        if let inTime { return await settle(attempt.id, inTime, callback, found, sheet) }
        if departure.claim() {
            // The call still waits for the handler or for a slot, and now never departs.
            task.cancel()
            log("payment handler not available in time; nothing was charged", key: found, "\(timings.answer)")
            return await settle(attempt.id, .notCalled, callback, found, sheet)
        }
        log(
            "payment handler is late; the device gets a failure, and a reversal is requested", key: found,
            "\(timings.answer)")
        reversals.beginCall(attempt.id)
        let answer = await settle(attempt.id, .late, callback, found, sheet)
        Task { @concurrent [self] in
            let late = await task.value
            _ = await settle(attempt.id, late, callback, found, sheet, isLate: true)
            reversals.endCall(attempt.id)
        }
        return answer
    }

    /// Calls the handler and returns the outcome after all checks.
    private func outcome(
        of call: PaymentHandlerCall, _ departure: OnceFlag, _ found: Found
    ) async -> Payment.Outcome {
        let outcome: PaymentOutcome
        do { outcome = try await handlers.pay(call, departure: departure) } catch {
            // Any other error is the handler's own: its call has ended.
            let end = (error as? any PaymentCallError)?.callEnd ?? .seen
            log("payment handler gave no answer", key: found, "\(end.words) (\(type(of: error)))")
            return Payment.Outcome(end)
        }
        do throws(PaymentAnswerProblem) { try outcome.check(for: call.sheet) } catch {
            log("payment handler's answer refused; a reversal is requested", key: found, error.loggable)
            guard case .success(_, let reference) = outcome else { return .misanswered(reference: nil) }
            return .misanswered(reference: reference)
        }
        switch outcome {
        case .success(let charged, let reference):
            return .charged(amount: charged, reference: reference, answer: outcome.answer)
        case .failure(let errors):
            return .declined(answer: errors.isEmpty ? PaymentFailure.declined.answer : outcome.answer)
        }
    }

    /// Makes an outcome durable and returns the answer.
    ///
    /// `isLate` says that the device was told of a failure before, even if that could not be written. When the
    /// outcome cannot be written, it is lost: the attempt on disk is uncertain from the end of its call.
    private func settle(
        _ id: String, _ outcome: Payment.Outcome, _ callback: PaymentCallback, _ found: Found,
        _ sheet: PaymentSheet?, isLate: Bool = false
    ) async -> (answer: [UInt8], isSuccess: Bool) {
        let clock = clock
        do {
            let settled = try await requests.update(found.name) {
                request, _ -> (Payment.Settlement, Payment, OpenRequest)? in
                guard let open = request, var payload = open.paymentPayload else { return nil }
                let now = clock.now()
                if isLate { _ = payload.payment.settle(id, .late, at: now) }
                let settlement = payload.payment.settle(id, outcome, at: now) { charged, asked in
                    guard let units = sheet?.minorUnits(of: charged) else { return false }
                    return units == sheet?.minorUnits(of: asked)
                }
                request?.set(payload)
                return (settlement, payload.payment, open)
            }
            guard let (settlement, payment, open) = settled else {
                return (PaymentFailure.uncertain.answer, false)
            }
            if let attempt = payment.attempts.first(where: { $0.id == id }) {
                await records.append(
                    line(attempt, callback, found, payment), of: open, slug: found.business.slug)
            }
            if settlement.needsReversal { reversals.wake() }
            return (settlement.answer, payment.paid?.id == id)
        } catch {
            log("payment outcome not recorded; a reversal is requested", key: found, "\(error)")
            return (PaymentFailure.uncertain.answer, false)
        }
    }

    private func tell(_ id: String, _ shared: SharedAttempt, _ found: Found) async {
        let clock = clock
        // After an error, the record does not say whether the device got the answer; the request's end
        // decides.
        let told = try? await requests.update(found.name) { [self] request, _ -> Bool? in
            // Close inside the update: a later post then reads what is recorded here.
            guard let isDelivered = close(id, shared) else { return nil }
            request?.changePayment { $0.tell(id, isDelivered: isDelivered, at: clock.now()) }
            return isDelivered
        }
        // The update did not run when the store is closed.
        guard let isDelivered = told ?? close(id, shared) else { return }
        if !isDelivered {
            log("payment reversed; the device disconnected before the answer", key: found, "disconnected")
        }
        reversals.endCall(id)
    }

    private func line(
        _ attempt: PaymentAttempt, _ callback: PaymentCallback, _ found: Found, _ payment: Payment
    ) -> PaymentRecords.Line {
        PaymentRecords.Line(
            at: clock.now(), requestIdentifier: callback.requestIdentifier, customer: found.customer,
            currency: payment.currency, attempt: attempt)
    }

    /// The answer to an update when the handler gives no valid answer in time.
    static let updateFailure = JSONWriter.object { writer in
        writer.array("errors") { writer in
            writer.object { writer in
                writer.field("code", "unknown")
                writer.field("message", "Please try again.")
            }
        }
    }

    /// The answer to an update; the update's turn ends when it is known whether the device got the answer.
    private struct Update: Sendable {
        let answer: [UInt8]
        /// The sheet of the answer; nil when the answer is a failure.
        let proposed: Payment.Shown?
    }

    private func update(_ callback: PaymentCallback, _ found: Found) async -> Reply {
        guard let turn = enterLane(found.name) else { return Reply(answer: .json(Self.updateFailure)) }
        let prepared = await clock.run(within: timings.answer) { [self] isDecided -> Update? in
            guard await turn.acquire() else { return nil }
            let prepared = await update(callback, found, isDecided)
            if prepared?.proposed == nil { turn.release() }
            return prepared
        }
        guard let prepared, let proposed = prepared.proposed else {
            leaveLane(found.name)
            return Reply(answer: .json(prepared?.answer ?? Self.updateFailure))
        }
        return Reply(answer: .json(prepared.answer)) { [self] isSent in
            Task { @concurrent in
                await resolve(proposed, isSent: isSent, found)
                turn.release()
                leaveLane(found.name)
            }
        }
    }

    private func update(
        _ callback: PaymentCallback, _ found: Found, _ isDecided: OnceFlag
    ) async -> Update? {
        let clock = clock
        do {
            guard let payload = try await payload(found), payload.payment.acceptsUpdates(at: clock.now()),
                let sheet = PaymentSheet(json: payload.payment.newest.sheet)
            else { return nil }
            let call = handlerCall(callback, found, payload, sheet, nil)
            let chosen = callback.kind == .shippingMethodUpdate ? callback.shippingMethod?.identifier : nil
            if let chosen, !sheet.shippingMethods.contains(where: { $0.identifier == chosen }) { return nil }
            let update = try await handlers.update(call)
            let next = try sheet.applying(update, to: callback.kind)
            let method =
                chosen
                ?? (update.shippingMethods == nil
                    ? payload.payment.newest.shippingMethod : next.shippingMethods.first?.identifier)
            guard isDecided.claim() else { return nil }
            let proposed = Payment.Shown(
                total: next.total.amount, shippingMethod: method, sheet: next.json)
            guard await propose(proposed, found) else {
                return Update(answer: Self.updateFailure, proposed: nil)
            }
            return Update(answer: next.answer(to: update), proposed: proposed)
        } catch {
            let reason = (error as? PaymentAnswerProblem)?.loggable ?? "\(type(of: error))"
            log("payment update not answered by the handler", key: found, reason)
            return nil
        }
    }

    /// Records a sheet before its answer is sent; false when the answer must not be sent.
    private func propose(_ sheet: Payment.Shown, _ found: Found) async -> Bool {
        let clock = clock
        do {
            return try await requests.update(found.name) { request, _ in
                request?.changePayment { $0.propose(sheet, at: clock.now()) ? true : nil } ?? false
            }
        } catch {
            log("payment update not recorded", key: found, "\(error)")
            return false
        }
    }

    /// Records whether the device got the answer of an update.
    private func resolve(_ sheet: Payment.Shown, isSent: Bool, _ found: Found) async {
        do {
            try await requests.update(found.name) { request, _ in
                request?.changePayment { $0.resolve(sheet, isSent: isSent) }
            }
        } catch {
            log(
                "delivery of a payment update not recorded; both sheets stay possible", key: found, "\(error)"
            )
        }
    }

    private func enterLane(_ name: RequestName, isUpdate: Bool = true) -> AsyncSemaphore? {
        state.withLock { state in
            var lane = state.lanes[name] ?? Lane()
            guard !isUpdate || lane.users < Self.maximumUpdates else { return nil }
            lane.users += 1
            state.lanes[name] = lane
            return lane.turn
        }
    }

    private func leaveLane(_ name: RequestName) {
        state.withLock { state in
            guard var lane = state.lanes[name] else { return }
            lane.users -= 1
            state.lanes[name] = lane.users == 0 ? nil : lane
        }
    }

    /// Runs `body` when the request's updates have ended; nil when they have not ended within `time`.
    private func afterUpdates<Value: Sendable>(
        of name: RequestName, within time: Duration, _ body: () async throws -> Value
    ) async rethrows -> Value? {
        guard let turn = enterLane(name, isUpdate: false) else { return nil }
        defer { leaveLane(name) }
        let hasTurn = await clock.run(within: time) { isDecided -> Bool? in
            guard await turn.acquire() else { return nil }
            if isDecided.claim() { return true }
            turn.release()
            return nil
        }
        guard hasTurn == true else { return nil }
        defer { turn.release() }
        return try await body()
    }

    private func track(_ callback: PaymentCallback, _ found: Found) async -> Answer {
        let isTracked = await clock.run(within: timings.answer) { [self] isDecided -> Bool? in
            guard let payload = try? await payload(found),
                let sheet = PaymentSheet(json: payload.payment.shown.sheet)
            else { return nil }
            let call = handlerCall(callback, found, payload, sheet, payload.payment.paid)
            do { try await handlers.track(call) } catch { return nil }
            return isDecided.claim() ? true : nil
        }
        // The device cannot react to a failure, so it gets 200 and the failure is logged.
        if isTracked == nil { log("order tracking not accepted by the handler", key: found, "failed") }
        return .ok
    }

    private func payload(_ found: Found) async throws -> PaymentPayload? {
        try await onDisk { [requests] in try requests.find(found.name) }?.paymentPayload
    }

    private func handlerCall(
        _ callback: PaymentCallback, _ found: Found, _ payload: PaymentPayload, _ sheet: PaymentSheet,
        _ attempt: PaymentAttempt?, _ token: PaymentTokens.Opened? = nil
    ) -> PaymentHandlerCall {
        PaymentHandlerCall(
            business: found.business.id, customer: found.customer, message: payload.message,
            requestIdentifier: callback.requestIdentifier, request: payload.request, callback: callback,
            sheet: sheet, attempt: attempt, decryptedToken: token?.json)
    }

    private func enter() -> Bool {
        state.withLock { state in
            guard state.running < Self.maximumCallbacks else { return false }
            state.running += 1
            return true
        }
    }

    private func log(_ message: Logger.Message, key found: Found?, _ reason: String) {
        logger.warning(
            message, metadata: ["business": "\(found?.business.slug ?? "-")", "reason": "\(reason)"])
    }
}
