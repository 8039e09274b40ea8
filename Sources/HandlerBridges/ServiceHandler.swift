import BalloonPOSIX
import BalloonTransport
import BalloonWire
import HandlerKit
import HandlerProtocol
import Logging
import Synchronization

/// A handler that is an HTTP service: each event is posted with a signature, and the answer is the outcome.
final class ServiceHandler: EventHandler, RetentionHandler {
    private struct State {
        /// The time at which the first of the current consecutive failures began; nil when the last call
        /// succeeded.
        var downSince: ContinuousClock.Instant?
        var failures = 0
        /// The schedule of probes after a status that concerns every event, such as 401.
        var probes = ProbeSchedule()

        var isDown: Bool { failures >= ServiceHandler.maximumFailures || probes.isRefused }
    }

    /// The number of consecutive failures after which the service counts as down.
    private static let maximumFailures = 3
    /// The longest time that a waiting event sleeps before it checks the state of the service again.
    private static let longestSleep = Duration.milliseconds(250)
    /// The maximum number of bytes of an answer's body that a log line quotes.
    private static let maximumQuoteBytes = 200

    private let address: ServiceAddress
    private let signature: WebhookSignature
    let subscriptions: Set<Subscription>
    let payments: Set<PaymentCallback.Kind>?
    let transport: any HTTPTransport
    /// The transport of updates and reversals, apart from events.
    let paymentTransport: any HTTPTransport
    let charges: ChargeTransports
    private let logger: Logger
    private let tail = LogTail()
    private let isStopping = Atomic(false)
    private let state = Mutex(State())

    init(
        _ address: ServiceAddress, signature: WebhookSignature, subscriptions: Set<Subscription>,
        payments: Set<PaymentCallback.Kind> = [], transport: any HTTPTransport,
        paymentTransport: (any HTTPTransport)? = nil,
        chargeTransport: (@Sendable () throws -> any HTTPTransport)? = nil,
        logger: Logger = Logger(label: "handler")
    ) {
        self.logger = logger
        self.address = address
        self.signature = signature
        self.subscriptions = subscriptions
        self.payments = payments
        self.transport = transport
        self.paymentTransport = paymentTransport ?? transport
        charges = ChargeTransports(chargeTransport ?? { transport })
    }

    var maximumInFlight: Int? { nil }

    /// Returns true when an event may be sent, and false when the task is cancelled or the server stops.
    ///
    /// Waits only after a status that concerns every event, such as 401. The service then gets one event at a
    /// time, as a probe.
    func waitUntilReady() async -> Bool {
        while !Task.isCancelled, !isStopping.load(ordering: .relaxed) {
            guard let delay = state.withLock({ $0.probes.delay(at: .now) }) else { return true }
            // Ignore the error: it means that the task was cancelled, which the loop checks.
            try? await Task.sleep(for: min(delay, Self.longestSleep))
        }
        return false
    }

    func stopWaiting() { isStopping.store(true, ordering: .relaxed) }

    var downSince: ContinuousClock.Instant? { state.withLock { $0.isDown ? $0.downSince : nil } }

    var report: HandlerReport {
        let (isDown, failures) = state.withLock { ($0.isDown, $0.failures) }
        return HandlerReport(
            health: isDown ? .open : failures == 0 ? .ready : .restarting, lines: tail.lines)
    }

    /// Resets the failure count, so that the next event is sent at once; a service has nothing to restart.
    func restart() { state.withLock { $0 = State() } }

    func handle(_ context: Context) async throws -> Outcome {
        // Read the history before the service is called, so that an unreadable history fails the event.
        _ = try context.conversation.read()
        let begun = ContinuousClock.now
        let request = request(context)
        let response: TransportResponse
        do {
            response = try await transport.send(request)
        } catch {
            recordAnswer(isFailure: true, since: begun)
            // The transport measures time less precisely, so its timeout may occur a few milliseconds before
            // the deadline.
            let isOver = ContinuousClock.now - begun >= request.timeout - .milliseconds(10)
            let failure = isOver ? BridgeError.overran : Self.failure(error as? TransportError)
            tail.append("[warning] delivery \(context.record): \(failure.reason)")
            throw failure
        }
        if ServiceRefusal.statuses.contains(response.status) {
            recordRefusal(response, since: begun)
            throw ServiceRefusal(status: response.status)
        }
        // Count a redirect as a failure: it usually leads to a login page, so the service has not handled the
        // event.
        recordAnswer(isFailure: response.status >= 500 || (300..<400).contains(response.status), since: begun)
        if !(200..<300).contains(response.status) {
            quote(
                response,
                "delivery \(context.record): the service answered with status \(response.status)"
            )
        }
        return try outcome(response, changing: context.state)
    }

    /// Adds a line, followed by the beginning of the answer's body, to the lines that `handlers logs` shows.
    ///
    /// The body may quote a customer, so the line is kept in memory only.
    private func quote(_ response: TransportResponse, _ line: String) {
        let body = String(decoding: response.body.prefix(Self.maximumQuoteBytes), as: UTF8.self)
        tail.append("[warning] \(line): \(body.isEmpty ? "no body" : body)")
    }

    private func recordRefusal(_ response: TransportResponse, since begun: ContinuousClock.Instant) {
        let isNew = state.withLock { state in
            defer { state.probes.fail(at: .now) }
            state.downSince = state.downSince ?? begun
            return !state.probes.isRefused
        }
        quote(response, "the service answered with status \(response.status)")
        guard isNew else { return }
        logger.warning(
            "the handler's service refuses every event; its events wait until it accepts one",
            metadata: ["status": "\(response.status)", "hint": "check its address, its secret and its log"])
    }

    func recordRefusal(_ refusal: AnswerRefusal, of delivery: DeliveryID) {
        tail.append(refusal, of: delivery)
    }

    static func failure(_ error: TransportError?) -> BridgeError {
        switch error {
        case .cancelled: .cancelled
        case .responseTooLarge(let maximumBytes): .answerTooLarge(maximumBytes: maximumBytes)
        default: .transport(error)
        }
    }

    private func recordAnswer(isFailure: Bool, since begun: ContinuousClock.Instant) {
        state.withLock { state in
            guard isFailure else { return state = State() }
            state.failures += 1
            state.downSince = state.downSince ?? begun
        }
    }

    /// Returns the request for an event.
    func request(_ context: Context, now: Int = SystemClock.secondsSince1970()) -> TransportRequest {
        let body = JSONWriter.object(reservingCapacity: 1024) { EventCall.write(context, to: &$0) }
        let id = context.deliveryID.rawValue
        var request = request(body, id: id, until: context.deadline, now: now)
        // An event is delivered at least once, and its deliveryId identifies a repetition.
        request.mustHappenOnce = false
        request.headers.append(("balloon-attempt", "\(context.attempt)"))
        if let traceparent = context.traceparent { request.headers.append(("traceparent", traceparent)) }
        return request
    }

    /// Returns a request whose signature covers the exact bytes of its body, as Standard Webhooks specifies.
    ///
    /// The body is `json` with U+FFFD for half a surrogate pair, as in a protocol line.
    func request(
        _ json: [UInt8], id: String, until deadline: ContinuousClock.Instant,
        now: Int = SystemClock.secondsSince1970()
    ) -> TransportRequest {
        var body = json
        replaceLoneSurrogates(in: &body)
        var request = TransportRequest(
            method: "POST", url: address.url,
            headers: [
                ("Content-Type", "application/json"), ("Accept-Encoding", "identity"), ("webhook-id", id),
                ("webhook-timestamp", "\(now)"),
                ("webhook-signature", signature.sign(id: id, timestamp: now, body: body)),
            ], body: body, timeout: max(.milliseconds(1), deadline - .now), allowsPlainHTTP: true)
        request.unixSocket = address.socket
        return request
    }

    /// Maps an answer to an outcome; only failures that may be temporary are retried.
    func outcome(
        _ response: TransportResponse, changing state: ConversationState = ConversationState()
    ) throws -> Outcome {
        switch response.status {
        case 200..<300:
            guard let result = try answer(response) else { return .handled }
            return try EventAnswer.outcome(result, changing: state)
        // RFC 9110 §15.5.21: the library's answer when its function built a message that breaks rules.
        case 422:
            // A body that cannot be read lists no problems.
            if let refusal = AnswerRefusal(listedIn: try? ServiceAnswer.read(response)) { throw refusal }
            return .reject(reason: "the service answered with status \(response.status)")
        case 300..<400, 408, 425, 429, 500...:
            let delay = Duration(
                retryAfter: response.header("Retry-After"), now: SystemClock.secondsSince1970())
            if let delay { return .retry(after: delay) }
            throw BridgeError.status(response.status)
        default: return .reject(reason: "the service answered with status \(response.status)")
        }
    }

    /// Reads a 2xx answer; quotes one that is no answer in `handlers logs`.
    private func answer(_ response: TransportResponse) throws(AnswerRefusal) -> JSONValue? {
        do throws(AnswerRefusal) {
            return try ServiceAnswer.read(response)
        } catch {
            quote(response, "the service's answer cannot be read")
            throw error
        }
    }

    /// Posts the App Store's question to the service and returns its choice.
    ///
    /// The question is sent even when the service counts as down, because the App Store does not wait. If the
    /// service does not answer, the app's rule file decides.
    func retention(
        _ request: RetentionRequest, _ context: RetentionContext
    ) async throws -> RetentionChoice? {
        let body = JSONWriter.object { RetentionCall.write(request, context, to: &$0) }
        var call = self.request(body, id: request.requestIdentifier.text, until: context.deadline)
        // The question changes nothing, and the App Store waits for the answer.
        call.mustHappenOnce = false
        let response = try await post(call, over: transport)
        guard let result = try answer(response) else { return nil }
        return try RetentionCall.choice(result)
    }
}
