import BalloonJSON
import BalloonPOSIX
import BalloonTransport
import BalloonWire
import HandlerKit
import HandlerProtocol
import Synchronization

/// A handler that is a service: every event is posted to it, signed, and its answer is the outcome.
final class ServiceHandler: EventHandler {
    private struct State {
        /// When the first failed call since the last answer began.
        var downSince: ContinuousClock.Instant?
        var failures = 0
    }

    /// The number of consecutive failures after which the service counts as down.
    private static let maximumFailures = 3

    private let address: ServiceAddress
    private let signature: WebhookSignature
    let subscriptions: Set<Subscription>
    private let transport: any HTTPTransport
    private let tail = LogTail()
    private let state = Mutex(State())

    init(
        _ address: ServiceAddress, signature: WebhookSignature, subscriptions: Set<Subscription>,
        transport: any HTTPTransport
    ) {
        self.address = address
        self.signature = signature
        self.subscriptions = subscriptions
        self.transport = transport
    }

    var maximumInFlight: Int? { nil }

    /// Always ready: only a call finds out whether the service is down.
    func waitUntilReady() async -> Bool { !Task.isCancelled }

    func stopWaiting() {}

    var downSince: ContinuousClock.Instant? {
        state.withLock { $0.failures >= Self.maximumFailures ? $0.downSince : nil }
    }

    var report: HandlerReport {
        let (isDown, failures) = state.withLock { ($0.failures >= Self.maximumFailures, $0.failures) }
        return HandlerReport(
            health: isDown ? .open : failures == 0 ? .ready : .restarting, log: tail.lines)
    }

    /// Resets the failure count; a service has nothing to restart.
    func restart() { state.withLock { $0 = State() } }

    func handle(_ context: Context) async throws -> Outcome {
        // As for a process: when the history is unreadable, fail before the service is called.
        _ = try context.conversation.read()
        let begun = ContinuousClock.now
        let request = request(context)
        let response: TransportResponse
        do {
            response = try await transport.send(request)
        } catch {
            recordAnswer(isFailure: true, since: begun)
            // The transport's clock is a little coarser than ours, and often the first of the two.
            let isOver = ContinuousClock.now - begun >= request.timeout - .milliseconds(10)
            throw isOver ? BridgeError.overran : Self.failure(error as? TransportError)
        }
        // A redirect is most often a login page: no handler received the event.
        recordAnswer(isFailure: response.status >= 500 || (300..<400).contains(response.status), since: begun)
        return try outcome(response, changing: context.state)
    }

    func recordRefusal(_ refusal: AnswerRefusal, of delivery: DeliveryID) {
        tail.append(refusal, of: delivery)
    }

    static func failure(_ error: TransportError?) -> BridgeError {
        switch error {
        case .cancelled: .cancelled
        case .responseTooLarge(let maximumBytes): .answerTooLarge(maximumBytes: maximumBytes)
        default: .transport
        }
    }

    private func recordAnswer(isFailure: Bool, since begun: ContinuousClock.Instant) {
        state.withLock { state in
            guard isFailure else { return state = State() }
            state.failures += 1
            state.downSince = state.downSince ?? begun
        }
    }

    /// Signs the exact bytes of the body, as Standard Webhooks specifies.
    func request(_ context: Context, now: Int = SystemClock.secondsSince1970()) -> TransportRequest {
        let body = JSONWriter.object(reservingCapacity: 1024) { EventCall.write(context, to: &$0) }
        let id = context.globalDeliveryID ?? context.deliveryID.rawValue
        var request = TransportRequest(
            method: "POST", url: address.url,
            headers: [
                ("Content-Type", "application/json"), ("webhook-id", id), ("webhook-timestamp", "\(now)"),
                ("webhook-signature", signature.sign(id: id, timestamp: now, body: body)),
                ("balloon-attempt", "\(context.attempt)"),
            ],
            body: body, timeout: max(.milliseconds(1), context.deadline - .now), allowsPlainHTTP: true)
        request.unixSocket = address.socket
        return request
    }

    /// Maps an answer to an outcome; only failures that may pass are retried.
    func outcome(
        _ response: TransportResponse, changing state: ConversationState = ConversationState()
    ) throws -> Outcome {
        switch response.status {
        case 200..<300:
            guard !response.body.isEmpty else { return .handled }
            guard let result = try? JSONDocument(response.body).root else { throw BridgeError.notJSON }
            return try EventAnswer.outcome(result, changing: state)
        case 300..<400, 408, 425, 429, 500...:
            let delay = Duration(
                retryAfter: response.header("Retry-After"), now: SystemClock.secondsSince1970())
            if let delay { return .retry(after: delay) }
            throw BridgeError.status(response.status)
        default: return .reject(reason: "the service answered with status \(response.status)")
        }
    }
}
