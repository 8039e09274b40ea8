import BalloonJSON
import BalloonPOSIX
import BalloonTransport
import BalloonWire
import HandlerKit
import HandlerProtocol

/// A handler that is a service: every event is posted to it, signed, and its answer decides.
struct ServiceHandler: EventHandler {
    let url: String
    let signature: WebhookSignature
    let kinds: Set<Kind>
    let transport: any HTTPTransport

    var subscribedKinds: Set<Kind> { kinds }
    var maximumInFlight: Int? { nil }

    /// A service that is down is found out by calling it.
    func waitUntilReady() async -> Bool { !Task.isCancelled }

    func stopWaiting() {}

    func handle(_ context: Context) async throws -> Outcome {
        do {
            return try outcome(try await transport.send(request(context)))
        } catch let error as TransportError {
            throw error == .cancelled ? BridgeError.cancelled : .transport
        }
    }

    /// Standard Webhooks: the signature is over the exact bytes of the body.
    func request(_ context: Context, now: Int = SystemClock.secondsSince1970()) -> TransportRequest {
        var writer = JSONWriter(reservingCapacity: 1024)
        writer.object { EventCall.write(context, to: &$0) }
        let body = writer.finish()
        let id = context.deliveryID.rawValue
        return TransportRequest(
            method: "POST", url: url,
            headers: [
                ("Content-Type", "application/json"), ("webhook-id", id), ("webhook-timestamp", "\(now)"),
                ("webhook-signature", signature.sign(id: id, timestamp: now, body: body)),
                ("balloon-attempt", "\(context.attempt)"),
            ],
            body: body, timeout: max(.milliseconds(1), context.deadline - .now), allowsPlainHTTP: true)
    }

    /// What an answer means; only what may go better later is tried again.
    func outcome(_ response: TransportResponse) throws(BridgeError) -> Outcome {
        switch response.status {
        case 200..<300:
            guard !response.body.isEmpty else { return .handled }
            guard let result = try? JSONDocument(response.body).root else { throw .notJSON }
            do throws(HandlerProtocolError) { return try EventAnswer.outcome(result) } catch {
                throw .invalid(error)
            }
        case 408, 425, 429, 500...:
            // RFC 9110 §10.2.3; a date is not worth a clock that may be off.
            if let seconds = response.header("Retry-After").flatMap({ Int($0) }), seconds >= 0 {
                return .retry(after: .seconds(seconds))
            }
            throw .status(response.status)
        default: return .reject(reason: "the service answered with status \(response.status)")
        }
    }
}
