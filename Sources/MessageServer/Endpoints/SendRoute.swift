import BalloonHTTP
import BalloonJSON

/// `POST /send` on `DATA/control.sock`: a message that a business sends of its own accord; see ``SendRequest``.
///
/// 200 with a ``SendAnswer`` as soon as the message has ended, or when the time to wait is over; 400 with
/// `{"error":"…"}` for what is not even tried, and 503 when it cannot be made durable.
struct SendRoute: Sendable {
    let deliveries: DeliveryPipeline
    let registry: HandlerRegistry

    private static let maximumBytes = 32 << 20

    var route: HTTPRoute {
        HTTPRoute(.post, "/send", body: .collected(maximumBytes: Self.maximumBytes)) { request, responder in
            let body = Array(request.body)
            // It is validated, written and waited for, which no shard does.
            Task { @concurrent in responder.respond(await answer(body)) }
            return nil
        }
    }

    private func answer(_ body: [UInt8]) async -> HTTPResponse {
        do {
            guard let request = SendRequest(body) else { throw SendRefusal.malformed }
            guard registry.contains(request.business) else { throw SendRefusal.businessUnknown }
            return HTTPResponse(.ok, json: try await deliveries.send(request).json)
        } catch let refusal as SendRefusal {
            return HTTPResponse(.badRequest, json: error(refusal.reason))
        } catch {
            return HTTPResponse(.serviceUnavailable, json: self.error("\(error)"))
        }
    }

    private func error(_ reason: String) -> [UInt8] {
        var writer = JSONWriter()
        writer.object { $0.field("error", reason) }
        return writer.finish()
    }
}
