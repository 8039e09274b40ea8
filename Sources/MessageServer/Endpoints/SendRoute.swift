import BalloonHTTP
import BalloonJSON
import BalloonPOSIX

/// `POST /send` on `DATA/control.sock`: sends a proactive message; see ``SendRequest``.
///
/// Answers 200 with a ``SendAnswer`` when the outcome is known, or at the end of the requested wait. Answers
/// 400 with `{"error":"…"}` for a message that is refused before any attempt. Answers 409 when another person
/// has the conversation or the customer has closed it. Answers 503 when the message or its files cannot be
/// made durable.
struct SendRoute: Sendable {
    let sender: ReplySender
    let registry: HandlerRegistry

    private static let maximumBytes = 32 << 20

    var route: HTTPRoute {
        HTTPRoute(.post, "/send", body: .collected(maximumBytes: Self.maximumBytes)) { request, responder in
            let body = Array(request.body)
            // Not on a shard: validating, writing and waiting take time.
            Task { @concurrent in responder.respond(await answer(body)) }
            return nil
        }
    }

    private func answer(_ body: [UInt8]) async -> HTTPResponse {
        do {
            guard let request = SendRequest(body) else { throw SendRefusal.malformed }
            guard registry.contains(request.business) else { throw SendRefusal.businessUnknown }
            return HTTPResponse(.ok, json: try await sender.send(request).json)
        } catch {
            return Self.answer(to: error)
        }
    }

    static func answer(to error: any Error) -> HTTPResponse {
        guard let refusal = error as? SendRefusal else {
            return HTTPResponse(.serviceUnavailable, json: Self.error("\(error)"))
        }
        // A full or failing disk is not the request's fault.
        if case .fileUnreadable(let reason, _) = refusal, reason.isDiskWide {
            return HTTPResponse(.serviceUnavailable, json: Self.error(refusal.reason))
        }
        if case .assignment = refusal { return HTTPResponse(.conflict, json: Self.error(refusal.reason)) }
        return HTTPResponse(.badRequest, json: Self.error(refusal.reason))
    }

    private static func error(_ reason: String) -> [UInt8] {
        JSONWriter.object { $0.field("error", reason) }
    }
}
