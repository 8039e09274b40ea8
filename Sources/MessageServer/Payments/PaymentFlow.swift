import BalloonHTTP
import BalloonPOSIX
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
        /// 503: too many callbacks are in progress, in all, of the business, or of the request's order tracking.
        case busy
    }

    /// An answer, and a closure that is called once with what is known of its delivery.
    struct Reply: Sendable {
        let answer: Answer
        var wasDelivered: (@Sendable (HTTPDelivery) -> Void)?
    }

    /// The maximum number of updates of one request at a time.
    static let maximumUpdates = 8

    struct Found: Sendable {
        let name: RequestName
        let business: PaymentSettings.Business
        let customer: CustomerID
    }

    /// The task that answers an attempt, and the number of the device's posts that wait for the answer.
    final class SharedAttempt: Sendable {
        struct State {
            var posts = 0
            var delivery = HTTPDelivery.unsent
        }

        let task: Task<(answer: [UInt8], isSuccess: Bool), Never>
        private let state = Mutex(State())

        init(_ work: @escaping @Sendable () async -> (answer: [UInt8], isSuccess: Bool)) {
            task = Task { @concurrent in await work() }
        }

        var posts: Int { state.withLock(\.posts) }
        /// Whether any of the answers was delivered, or may have been.
        var delivery: HTTPDelivery { state.withLock(\.delivery) }

        func join() { state.withLock { $0.posts += 1 } }

        /// Counts a post as answered; returns whether it was the last one.
        func leave(_ delivery: HTTPDelivery) -> Bool {
            state.withLock { state in
                state.posts -= 1
                if delivery == .sent || state.delivery == .unsent { state.delivery = delivery }
                return state.posts == 0
            }
        }
    }

    struct Lane {
        let turn = AsyncSemaphore(1)
        var users = 0
    }

    struct State {
        var slots = CallbackSlots()
        var attempts: [String: SharedAttempt] = [:]
        var lanes: [RequestName: Lane] = [:]
    }

    let requests: OpenRequests
    private let settings: PaymentSettings
    let handlers: any PaymentHandling
    let reversals: PaymentReversals
    let records: PaymentRecords
    let tokens: PaymentTokens
    let clock: PaymentClock
    let timings: PaymentTimings
    private let logger: Logger
    let state = Mutex(State())

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
        guard state.withLock({ $0.slots.enter() }) else { return Reply(answer: .busy) }
        defer { state.withLock { $0.slots.leave() } }
        // The error is dropped, because every unreadable body gets the same answer.
        guard let root = (try? JSONDocument(body))?.root, let callback = try? PaymentCallback(kind, root)
        else {
            return Reply(answer: .badRequest)
        }
        let known: (found: Found, request: OpenRequest)?
        do { known = try await find(key: key, request: callback.requestIdentifier) } catch {
            log("payment callback failed; the request cannot be read", key: nil, "\(error)")
            return Reply(
                answer: .json(
                    kind == .paymentGateway ? PaymentFailure.uncertain.answer : Self.updateFailure))
        }
        // While the callbacks of a handler that is down are unknown, the call is made and fails.
        guard let (found, request) = known, request.requestIdentifier == callback.requestIdentifier,
            handlers.callbacks(of: found.business.id)?.contains(kind) ?? true
        else { return Reply(answer: .notFound) }
        let (business, tracked) = (found.business.id, kind == .orderTracking ? found.name : nil)
        guard state.withLock({ $0.slots.enter(business, tracking: tracked) }) else {
            return Reply(answer: .busy)
        }
        defer { state.withLock { $0.slots.leave(business, tracking: tracked) } }
        switch kind {
        case .paymentGateway: return await gateway(callback, found)
        case .orderTracking: return Reply(answer: await track(callback, found))
        case .paymentMethodUpdate, .shippingMethodUpdate, .shippingContactUpdate:
            return await update(callback, found)
        }
    }

    /// Returns the request that a key or an identifier names; nil for an unknown request.
    func find(key: String, request: String?) async throws -> (found: Found, request: OpenRequest)? {
        let isConstant = settings.business(slug: key) != nil
        guard let secret = isConstant ? request : key else { return nil }
        let name = RequestName(of: secret)
        guard let open = try await onDisk({ [requests] in try requests.find(name) }), open.kind == .payment,
            let business = settings[open.business], !isConstant || business.slug == key
        else { return nil }
        return (Found(name: name, business: business, customer: open.customer), open)
    }

    /// The number of gateway calls whose answer is not decided or not delivered yet.
    var waitingPosts: Int { state.withLock { $0.attempts.values.reduce(0) { $0 + $1.posts } } }

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

    func payload(_ found: Found) async throws -> PaymentPayload? {
        try await onDisk { [requests] in try requests.find(found.name) }?.paymentPayload
    }

    func handlerCall(
        _ callback: PaymentCallback, _ found: Found, _ payload: PaymentPayload, _ sheet: PaymentSheet,
        _ attempt: PaymentAttempt?, _ token: PaymentTokens.Opened? = nil
    ) -> PaymentHandlerCall {
        PaymentHandlerCall(
            business: found.business.id, customer: found.customer, message: payload.message,
            requestIdentifier: callback.requestIdentifier, request: payload.request, callback: callback,
            sheet: sheet, attempt: attempt, decryptedToken: token?.json)
    }

    func log(_ message: Logger.Message, key found: Found?, _ reason: String) {
        logger.warning(
            message, metadata: ["business": "\(found?.business.slug ?? "-")", "reason": "\(reason)"])
    }
}
