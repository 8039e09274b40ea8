import BalloonHTTP

/// The public endpoints of sign-ins: `/auth/SLUG/callback` and `/auth/SLUG/confirm`.
///
/// A callback answers with the confirm page or with 302 to `messages-auth:`, which returns the customer to Messages. The
/// paths contain no secret; the queries do, and are never logged.
struct SignInRoutes: Sendable {
    let flow: SignInFlow

    private static let callbackPath = "/auth/{slug}/callback"
    private static let confirmPath = "/auth/{slug}/confirm"
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
