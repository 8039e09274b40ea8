import BalloonHTTP
import BalloonPOSIX
import BusinessMessages
import Logging
import MessageStore
import Payments

/// The payment routes for devices and Apple: the endpoints, the fallback page, and the file that verifies the
/// domain.
///
/// The endpoints need no authentication: the random identifier of a request, or the token in its path, is a
/// secret that only the customer's device and Apple know.
struct PaymentRoutes: Sendable {
    let flow: PaymentFlow
    let settings: PaymentSettings
    let logger: Logger

    private static let associationPath = "/.well-known/apple-developer-merchantid-domain-association"
    /// The maximum bytes of a callback's body; payment tokens have about 4 KiB.
    static let maximumBodyBytes = 262_144
    private static let fallbackTime = Duration.seconds(5)

    func routes() -> [HTTPRoute] {
        PaymentCallback.Kind.allCases.map { kind in
            HTTPRoute(
                .post, "/pay/{key}/" + kind.rawValue, body: .collected(maximumBytes: Self.maximumBodyBytes)
            ) { request, responder in answer(kind, request, responder) }
        } + [
            HTTPRoute(.get, "/pay/{key}/fallback") { request, responder in fallback(request, responder) },
            HTTPRoute(.post, "/pay/{key}/fallback", body: .collected(maximumBytes: Self.maximumBodyBytes)) {
                request, responder in fallback(request, responder)
            },
        ]
            + ["", ".txt"].map { ending in
                HTTPRoute(.get, Self.associationPath + ending) { request, _ in association(request) }
            }
    }

    private func answer(
        _ kind: PaymentCallback.Kind, _ request: HTTPRequest, _ responder: HTTPResponder
    ) -> HTTPResponse? {
        let (key, body) = (request.parameter("key") ?? "", Array(request.body))
        // Leave the shard, because the disk and the handler take time.
        Task { @concurrent [flow] in
            let reply = await flow.answer(kind, key: key, body)
            responder.respond(Self.response(reply.answer), then: reply.wasDelivered)
        }
        return nil
    }

    private static func response(_ answer: PaymentFlow.Answer) -> HTTPResponse {
        switch answer {
        case .json(let json):
            HTTPResponse(.ok, json: json, fields: PublicPage.fields)
        case .ok:
            HTTPResponse(.ok, contentType: "text/plain", body: Array("ok\n".utf8), fields: PublicPage.fields)
        case .notFound: HTTPResponse(.notFound, fields: PublicPage.fields)
        case .badRequest: HTTPResponse(.badRequest, fields: PublicPage.fields)
        case .busy: HTTPResponse(.serviceUnavailable, fields: PublicPage.fields)
        }
    }

    private func fallback(_ request: HTTPRequest, _ responder: HTTPResponder) -> HTTPResponse? {
        let key = request.parameter("key") ?? ""
        // A malformed query names no request.
        let values = (try? HTTPQuery(request.query))?.values(of: "request") ?? []
        let identifier = values.count == 1 ? values[0] : nil
        responder.respond(within: Self.fallbackTime, or: Self.unavailable) { [flow] in
            do {
                let known = try await flow.find(key: key, request: identifier)
                return known.map { Self.page($0.request, $0.found.business) } ?? Self.response(.notFound)
            } catch {
                return Self.unavailable
            }
        }
        return nil
    }

    private static func page(
        _ request: OpenRequest, _ business: PaymentSettings.Business
    ) -> HTTPResponse {
        if let address = business.section.fallbackURL {
            let separator = address.contains("?") ? "&" : "?"
            let location = "\(address)\(separator)request=\(request.requestIdentifier)"
            return HTTPResponse(.found, fields: PublicPage.fields + [("Location", location)])
        }
        // A payment that cannot be read may have charged.
        let standing = request.paymentPayload?.payment.standing ?? .unclear
        return PaymentPage.page(business: business.name, standing).response()
    }

    private func association(_ request: HTTPRequest) -> HTTPResponse {
        guard let file = request.text(.host).flatMap({ settings.domainAssociation(host: $0) }) else {
            guard settings.hasDomainAssociation else { return Self.response(.notFound) }
            logger.notice(
                "a request for the Apple Pay domain association was refused: its Host is the domainName of no business with a domainAssociationFile; let the proxy pass Host unchanged"
            )
            return HTTPResponse(
                .notFound, contentType: "text/plain",
                body: Array("Host is not the domainName of a business with a domainAssociationFile\n".utf8),
                fields: PublicPage.fields)
        }
        return HTTPResponse(.ok, contentType: "text/plain", body: file, fields: PublicPage.fields)
    }

    private static let unavailable = HTTPResponse(.serviceUnavailable, fields: PublicPage.fields)
}
