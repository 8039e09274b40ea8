import BalloonJSON
import BalloonPOSIX
import BusinessMessages
import Logging
import MessageStore
import Payments
import Synchronization

/// Processes the requests that customers' devices send to the payment endpoints.
///
/// An attempt is durable before the handler is called, and its outcome is durable before the device gets the
/// answer. Equal gateway calls share one call of the handler and its answer. Updates of one request run one
/// after another.
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

    /// The time limit of a callback; Apple waits for 30 seconds.
    static let timeLimit = Duration.seconds(25)
    /// The time after ``timeLimit`` in which a late outcome is still accepted before the attempt is reversed.
    static let lateLimit = Duration.seconds(60)
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

        func join() { state.withLock { $0.posts += 1 } }

        /// Counts a post as answered; for the last post, returns whether any of the answers was delivered.
        func leave(isDelivered: Bool) -> Bool? {
            state.withLock { state in
                state.posts -= 1
                state.isDelivered = state.isDelivered || isDelivered
                return state.posts == 0 ? state.isDelivered : nil
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
    private let logger: Logger
    private let state = Mutex(State())

    init(
        requests: OpenRequests, settings: PaymentSettings, handlers: any PaymentHandling,
        reversals: PaymentReversals, records: PaymentRecords, tokens: PaymentTokens = PaymentTokens(),
        clock: PaymentClock = PaymentClock(), logger: Logger
    ) {
        self.requests = requests
        self.settings = settings
        self.handlers = handlers
        self.reversals = reversals
        self.records = records
        self.tokens = tokens
        self.clock = clock
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
            return Reply(answer: kind == .paymentGateway ? .json(Payment.failure) : .json(Self.updateFailure))
        }
        // While the callbacks of a handler that is down are unknown, the call is made and fails.
        guard let found, handlers.callbacks(of: found.business.id)?.contains(kind) ?? true else {
            return Reply(answer: .notFound)
        }
        switch kind {
        case .paymentGateway: return await gateway(callback, found)
        case .orderTracking: return Reply(answer: await track(callback, found))
        case .paymentMethodUpdate, .shippingMethodUpdate, .shippingContactUpdate:
            return Reply(answer: .json(await update(callback, found)))
        }
    }

    /// Returns the identifier and the business of the request that a key or a query names; nil for an unknown
    /// request.
    func fallback(key: String, request: String?) async throws -> (
        identifier: String, business: PaymentSettings.Business
    )? {
        let isConstant = settings.business(slug: key) != nil
        guard let secret = isConstant ? request : key else { return nil }
        let name = RequestName(of: secret)
        guard let open = try await onDisk({ [requests] in try requests.find(name) }), open.kind == .payment,
            let business = settings[open.business], !isConstant || business.slug == key
        else { return nil }
        return (open.requestIdentifier, business)
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
                    self.state.withLock { $0.attempts[id] = nil }
                    reversals.endCall(id)
                    return answer
                }
            state.attempts[id] = shared
            shared.join()
            return shared
        }
        let (answer, isSuccess) = await shared.task.value
        return Reply(answer: .json(answer)) { [self] isDelivered in
            guard let wasDelivered = shared.leave(isDelivered: isDelivered), isSuccess else { return }
            Task { @concurrent in await tell(id, found, isDelivered: wasDelivered) }
        }
    }

    /// Makes an attempt to pay, or returns the answer of an earlier one with the same identifier.
    private func attempt(
        _ id: String, _ callback: PaymentCallback, _ found: Found
    ) async -> (answer: [UInt8], isSuccess: Bool) {
        let clock = clock
        let shippingMethod = callback.shippingMethod?.identifier
        let decryption = found.business.applePay.decryption
        var token: PaymentTokens.Opened?
        if let decryption {
            do { token = try await open(callback, id, found, with: decryption) } catch {
                log("payment token refused; the device gets a failure", key: found, "\(error)")
                return (Payment.failure, false)
            }
        }
        let opened = token
        let decided: (decision: Payment.GatewayDecision, payload: PaymentPayload)?
        do {
            decided = try await requests.update(found.name) { request, _ in
                guard var payload = request?.paymentPayload else { return nil }
                let now = clock.now()
                let sheet = PaymentSheet(json: payload.payment.sheet)
                let decision = payload.payment.begin(
                    attempt: id, transaction: opened?.transaction, shippingMethod: shippingMethod, at: now
                ) { total in
                    guard decryption != nil else { return true }
                    guard let opened, let sheet else { return false }
                    return opened.isFor(total, on: sheet)
                }
                // This process has no call for the attempt, so an earlier process began it.
                if case .join = decision { _ = payload.payment.recover(at: now) }
                request?.set(payload)
                return (decision, payload)
            }
        } catch {
            log("payment not begun; the device gets a failure", key: found, "\(error)")
            return (Payment.failure, false)
        }
        guard let decided else { return (Payment.failure, false) }
        switch decided.decision {
        case .call(let attempt):
            await records.append(
                line(attempt, callback, found, decided.payload.payment), slug: found.business.slug)
            return await call(attempt, callback, found, decided.payload, opened)
        case .repeated(let answer): return (answer, decided.payload.payment.paid?.id == id)
        case .join:
            reversals.wake()
            return (Payment.failure, false)
        case .refused(let refusal):
            log("payment refused without a call of the handler", key: found, refusal.rawValue)
            return (Payment.failure, false)
        }
    }

    /// Opens the token of a new attempt; nil for a known attempt, whose answer is repeated without opening
    /// the token.
    private func open(
        _ callback: PaymentCallback, _ id: String, _ found: Found,
        with decryption: ApplePayConfiguration.Decryption
    ) async throws -> PaymentTokens.Opened? {
        let payload = try await onDisk({ [requests] in try requests.find(found.name) })?.paymentPayload
        if payload?.payment.attempts.contains(where: { $0.id == id }) == true { return nil }
        return try await tokens.open(callback, for: id, with: decryption, at: clock.now()).get()
    }

    private func call(
        _ attempt: PaymentAttempt, _ callback: PaymentCallback, _ found: Found, _ payload: PaymentPayload,
        _ token: PaymentTokens.Opened?
    ) async -> (answer: [UInt8], isSuccess: Bool) {
        guard let sheet = PaymentSheet(json: payload.payment.sheet) else {
            return await settle(attempt.id, .unknown, callback, found, nil)
        }
        let call = PaymentHandlerCall(
            business: found.business.id, customer: found.customer,
            message: payload.message,
            requestIdentifier: callback.requestIdentifier, request: payload.request, callback: callback,
            sheet: sheet, attempt: attempt, decryptedToken: token?.json)
        let task = Task { @concurrent [self] in await outcome(of: call, found) }
        let inTime = await clock.run(within: Self.timeLimit) { isDecided -> Payment.Outcome? in
            let value = await task.value
            return isDecided.claim() ? value : nil
        }
        if let inTime { return await settle(attempt.id, inTime, callback, found, sheet) }
        task.cancel()
        log("payment handler was too late; its charge is reversed", key: found, "25 s")
        // Delay the reversal until the call has ended: an earlier reversal could find no charge, and the call
        // could then still make the charge.
        reversals.beginCall(attempt.id)
        let answer = await settle(attempt.id, .unknown, callback, found, sheet)
        Task { @concurrent [self] in
            let late = await clock.run(within: Self.lateLimit) { isDecided -> Payment.Outcome? in
                let value = await task.value
                return isDecided.claim() ? value : nil
            }
            if let late, case .charged = late {
                _ = await settle(attempt.id, late, callback, found, sheet)
            }
            reversals.endCall(attempt.id)
        }
        return answer
    }

    /// Returns the handler's outcome after all checks; the outcome is unknown when the handler threw.
    private func outcome(of call: PaymentHandlerCall, _ found: Found) async -> Payment.Outcome {
        let outcome: PaymentOutcome
        do { outcome = try await handlers.pay(call) } catch {
            log("payment handler failed; its charge is reversed", key: found, "\(type(of: error))")
            return .unknown
        }
        do throws(PaymentAnswerProblem) { try outcome.check(for: call.sheet) } catch {
            log("payment handler's answer refused", key: found, "\(error)")
            switch outcome {
            case .success(_, let reference):
                // An empty amount makes the settlement reverse the charge, even if only the reference was
                // invalid.
                return .charged(amount: "", reference: reference, answer: Payment.failure)
            case .failure: return .declined(answer: Payment.failure)
            }
        }
        switch outcome {
        case .success(let charged, let reference):
            return .charged(amount: charged, reference: reference, answer: outcome.answer)
        case .failure: return .declined(answer: outcome.answer)
        }
    }

    /// Makes an outcome durable and returns the answer; returns a failure when the outcome cannot be written.
    ///
    /// The charge is then reversed.
    private func settle(
        _ id: String, _ outcome: Payment.Outcome, _ callback: PaymentCallback, _ found: Found,
        _ sheet: PaymentSheet?
    ) async -> (answer: [UInt8], isSuccess: Bool) {
        let clock = clock
        do {
            let settled = try await requests.update(found.name) {
                request, _ -> (Payment.Settlement, Payment)? in
                guard var payload = request?.paymentPayload else { return nil }
                let settlement = payload.payment.settle(id, outcome, at: clock.now()) { charged, asked in
                    guard let units = sheet?.minorUnits(of: charged) else { return false }
                    return units == sheet?.minorUnits(of: asked)
                }
                request?.set(payload)
                return (settlement, payload.payment)
            }
            guard let (settlement, payment) = settled else { return (Payment.failure, false) }
            if let attempt = payment.attempts.first(where: { $0.id == id }) {
                await records.append(line(attempt, callback, found, payment), slug: found.business.slug)
            }
            if settlement.needsReversal { reversals.wake() }
            return (settlement.answer, payment.paid?.id == id)
        } catch {
            log("payment outcome not recorded; it is reversed", key: found, "\(error)")
            // The attempt on disk is still begun; it becomes a reversal when its call has ended.
            return (Payment.failure, false)
        }
    }

    private func tell(_ id: String, _ found: Found, isDelivered: Bool) async {
        let clock = clock
        // After an error, the record does not say whether the device got the answer; the request's end
        // decides.
        try? await requests.update(found.name) { request, _ in
            guard var payload = request?.paymentPayload else { return }
            payload.payment.tell(id, isDelivered: isDelivered, at: clock.now())
            request?.set(payload)
        }
        if !isDelivered {
            log("payment reversed; the device disconnected before the answer", key: found, "disconnected")
            reversals.wake()
        }
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
        writer.key("errors")
        writer.array { writer in
            writer.object { writer in
                writer.field("code", "unknown")
                writer.field("message", "Please try again.")
            }
        }
    }

    private func update(_ callback: PaymentCallback, _ found: Found) async -> [UInt8] {
        guard let turn = enterLane(found.name) else { return Self.updateFailure }
        defer { leaveLane(found.name) }
        let answer = await clock.run(within: Self.timeLimit) { [self] isDecided -> [UInt8]? in
            guard await turn.acquire() else { return nil }
            defer { turn.release() }
            return await update(callback, found, isDecided)
        }
        return answer ?? Self.updateFailure
    }

    private func update(
        _ callback: PaymentCallback, _ found: Found, _ isDecided: OnceFlag
    ) async -> [UInt8]? {
        let clock = clock
        do {
            guard
                let payload = try await onDisk({ [requests] in try requests.find(found.name) })?
                    .paymentPayload,
                payload.payment.acceptsUpdates(at: clock.now()),
                let sheet = PaymentSheet(json: payload.payment.sheet)
            else { return nil }
            let call = PaymentHandlerCall(
                business: found.business.id, customer: found.customer,
                message: payload.message,
                requestIdentifier: callback.requestIdentifier, request: payload.request, callback: callback,
                sheet: sheet, attempt: nil)
            let chosen = callback.kind == .shippingMethodUpdate ? callback.shippingMethod?.identifier : nil
            if let chosen, !sheet.shippingMethods.contains(where: { $0.identifier == chosen }) { return nil }
            let update = try await handlers.update(call)
            let next = try sheet.applying(update, to: callback.kind)
            let method =
                chosen
                ?? (update.shippingMethods == nil
                    ? payload.payment.shippingMethod : next.shippingMethods.first?.identifier)
            guard isDecided.claim() else { return nil }
            let isInForce = await put(next, shippingMethod: method, found)
            return isInForce ? next.answer(to: update) : Self.updateFailure
        } catch {
            let reason = (error as? PaymentAnswerProblem).map { "\($0)" } ?? "\(type(of: error))"
            log("payment update not answered by the handler", key: found, reason)
            return nil
        }
    }

    /// Records a sheet as the one in force before its answer is sent; false when the answer must not be sent.
    private func put(_ sheet: PaymentSheet, shippingMethod: String?, _ found: Found) async -> Bool {
        let clock = clock
        let json = sheet.json
        do {
            return try await requests.update(found.name) { request, _ in
                guard var payload = request?.paymentPayload,
                    payload.payment.update(
                        total: sheet.total.amount, shippingMethod: shippingMethod, sheet: json,
                        at: clock.now())
                else { return false }
                request?.set(payload)
                return true
            }
        } catch {
            log("payment update not recorded", key: found, "\(error)")
            return false
        }
    }

    private func enterLane(_ name: RequestName) -> AsyncSemaphore? {
        state.withLock { state in
            var lane = state.lanes[name] ?? Lane()
            guard lane.users < Self.maximumUpdates else { return nil }
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

    private func track(_ callback: PaymentCallback, _ found: Found) async -> Answer {
        let isTracked = await clock.run(within: Self.timeLimit) { [self] isDecided -> Bool? in
            guard
                let payload = try? await onDisk({ [requests] in try requests.find(found.name) })?
                    .paymentPayload, let sheet = PaymentSheet(json: payload.payment.sheet)
            else { return nil }
            let call = PaymentHandlerCall(
                business: found.business.id, customer: found.customer,
                message: payload.message,
                requestIdentifier: callback.requestIdentifier, request: payload.request, callback: callback,
                sheet: sheet, attempt: payload.payment.paid)
            do { try await handlers.track(call) } catch { return nil }
            return isDecided.claim() ? true : nil
        }
        // The device cannot react to a failure, so it gets 200 and the failure is logged.
        if isTracked == nil { log("order tracking not accepted by the handler", key: found, "failed") }
        return .ok
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
