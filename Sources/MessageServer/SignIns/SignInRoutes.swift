import BalloonHTTP
import BalloonPOSIX

/// The public endpoints of sign-ins: `/auth/SLUG/callback`, `/auth/SLUG/confirm` and `/auth/SLUG/key`.
///
/// A callback answers with the confirm page or with 302 to `messages-auth:`, which returns the customer to Messages. The
/// paths contain no secret; the queries do, and are never logged.
struct SignInRoutes: Sendable {
    let flow: SignInFlow
    let audit: SignInAudit

    private static let callbackPath = "/auth/{slug}/callback"
    private static let confirmPath = "/auth/{slug}/confirm"
    private static let keyPath = "/auth/{slug}/key"
    /// The time limit of a question about a key.
    private static let auditTime = Duration.seconds(1)
    /// The maximum bytes of a form.
    private static let maximumFormBytes = 16_384

    func routes() -> [HTTPRoute] {
        [
            HTTPRoute(.get, Self.callbackPath) { request, responder in
                // A GET route gets HEAD too, which must not consume the request.
                guard request.method == .get else { return Self.methodNotAllowed }
                return answer(request, responder) { await flow.callback(Array(request.query), slug: $0) }
            },
            HTTPRoute(.post, Self.callbackPath, body: .collected(maximumBytes: Self.maximumFormBytes)) {
                request, responder in
                answer(request, responder) { await flow.callback(Array(request.body), slug: $0) }
            },
            HTTPRoute(.post, Self.confirmPath, body: .collected(maximumBytes: Self.maximumFormBytes)) {
                request, responder in
                answer(request, responder) { await flow.confirm(request.body, slug: $0) }
            },
            HTTPRoute(.get, Self.keyPath) { request, responder in
                guard request.method == .get else { return Self.methodNotAllowed }
                return answerAudit(request, request.query, responder)
            },
            HTTPRoute(.post, Self.keyPath, body: .collected(maximumBytes: Self.maximumFormBytes)) {
                request, responder in
                answerAudit(request, request.body, responder)
            },
        ]
    }

    private func answer(
        _ request: HTTPRequest, _ responder: HTTPResponder,
        _ work: @escaping @Sendable (_ slug: String) async -> SignInFlow.Answer
    ) -> HTTPResponse? {
        let slug = request.parameter("slug") ?? ""
        // Not on a shard: the provider and the disk take time.
        Task { @concurrent in responder.respond(Self.response(await work(slug), slug: slug)) }
        return nil
    }

    private func answerAudit(
        _ request: HTTPRequest, _ text: ArraySlice<UInt8>, _ responder: HTTPResponder
    ) -> HTTPResponse? {
        let slug = request.parameter("slug") ?? ""
        guard !request.isRepeated(.authorization),
            audit.isAuthorized(request.field(.authorization), slug: slug)
        else { return Self.unauthorized }
        guard let question = SignInAudit.Question(text) else { return Self.unknownKey }
        let isAnswered = OnceFlag()
        let timer = Task {
            // A cancelled sleep means that the answer was sent.
            try? await Task.sleep(for: Self.auditTime)
            if isAnswered.claim() { responder.respond(Self.unavailable) }
        }
        // Not on a shard: the answer is in a file.
        Task { @concurrent [audit] in
            let response: HTTPResponse
            do {
                let isValid = try await onDisk { try audit.isValid(question, slug: slug) }
                response = isValid ? Self.validKey : Self.unknownKey
            } catch {
                response = Self.unavailable
            }
            if isAnswered.claim() { responder.respond(response) }
            timer.cancel()
        }
        return nil
    }

    private static let validKey = HTTPResponse(
        .ok, contentType: "application/json", body: Array(#"{"valid":true}"#.utf8), fields: fields)
    private static let unknownKey = HTTPResponse(
        .notFound, contentType: "application/json", body: Array(#"{"valid":false}"#.utf8), fields: fields)
    private static let unavailable = HTTPResponse(.serviceUnavailable, fields: fields)
    private static let unauthorized = HTTPResponse(
        .unauthorized, fields: fields + [("WWW-Authenticate", "Bearer")])

    static func response(_ answer: SignInFlow.Answer, slug: String) -> HTTPResponse {
        switch answer {
        case .success: redirect("messages-auth://?status=success")
        case .cancel: redirect("messages-auth://?status=cancel&error_code=403")
        case .failure(let code): redirect("messages-auth://?status=failure&error_code=\(code)")
        case .confirmation(let value, let business):
            HTTPResponse(
                .ok, contentType: "text/html; charset=utf-8",
                body: SignInPage.html(business: business, slug: slug, value: value),
                fields: fields + [
                    ("Content-Security-Policy", SignInPage.policy), ("X-Content-Type-Options", "nosniff"),
                    ("X-Frame-Options", "DENY"),
                ])
        }
    }

    private static func redirect(_ address: String) -> HTTPResponse {
        HTTPResponse(.found, fields: fields + [("Location", address)])
    }

    private static let methodNotAllowed = HTTPResponse(
        .methodNotAllowed, fields: fields + [("Allow", "GET, POST")])

    private static let fields = [("Cache-Control", "no-store"), ("Referrer-Policy", "no-referrer")]
}
