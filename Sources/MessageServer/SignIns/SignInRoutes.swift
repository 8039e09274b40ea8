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
    /// The time limit of a confirmation.
    private static let confirmTime = Duration.seconds(5)
    /// The time limit of a question about a key.
    private static let auditTime = Duration.seconds(1)
    /// The maximum bytes of a form.
    private static let maximumFormBytes = 16_384

    func routes() -> [HTTPRoute] {
        [
            HTTPRoute(.get, Self.callbackPath) { request, responder in
                // A GET route also receives HEAD requests, which must not consume the sign-in.
                guard request.method == .get else { return Self.methodNotAllowed }
                // Copy the query: a slice that is kept while the provider works would keep the shard's whole
                // buffer.
                let query = Array(request.query)
                return answer(request, responder) { await flow.callback(query, slug: $0) }
            },
            HTTPRoute(.post, Self.callbackPath, body: .collected(maximumBytes: Self.maximumFormBytes)) {
                request, responder in
                let form = Array(request.body)
                return answer(request, responder) { await flow.callback(form, slug: $0) }
            },
            HTTPRoute(.post, Self.confirmPath, body: .collected(maximumBytes: Self.maximumFormBytes)) {
                request, responder in
                let slug = request.parameter("slug") ?? ""
                // The buffer of the connection is reused, so the body is copied.
                let form = Array(request.body)[...]
                responder.respond(
                    within: Self.confirmTime, or: Self.response(.failure(code: 503), slug: slug)
                ) { Self.response(await flow.confirm(form, slug: slug), slug: slug) }
                return nil
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
        // Leave the shard, because the provider and the disk take time.
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
        responder.respond(within: Self.auditTime, or: Self.unavailable) {
            do {
                let isValid = try await onDisk { [audit] in try audit.isValid(question, slug: slug) }
                return isValid ? Self.validKey : Self.unknownKey
            } catch {
                return Self.unavailable
            }
        }
        return nil
    }

    private static let validKey = HTTPResponse(
        .ok, json: Array(#"{"valid":true}"#.utf8), fields: fields)
    private static let unknownKey = HTTPResponse(
        .notFound, json: Array(#"{"valid":false}"#.utf8), fields: fields)
    private static let unavailable = HTTPResponse(.serviceUnavailable, fields: fields)
    private static let unauthorized = HTTPResponse(
        .unauthorized, fields: fields + [("WWW-Authenticate", "Bearer")])

    static func response(_ answer: SignInFlow.Answer, slug: String) -> HTTPResponse {
        switch answer {
        case .success: redirect("messages-auth://?status=success")
        case .cancel: redirect("messages-auth://?status=cancel&error_code=403")
        case .failure(let code): redirect("messages-auth://?status=failure&error_code=\(code)")
        case .confirmation(let value, let business):
            SignInPage.page(business: business, slug: slug, value: value).response()
        }
    }

    private static func redirect(_ address: String) -> HTTPResponse {
        HTTPResponse(.found, fields: fields + [("Location", address)])
    }

    private static let methodNotAllowed = HTTPResponse(
        .methodNotAllowed, fields: fields + [("Allow", "GET, POST")])

    private static let fields = PublicPage.fields
}

extension HTTPResponder {
    /// Answers with the result of `work`, or with `late` when `work` takes longer than `limit`, as on a hung disk.
    func respond(
        within limit: Duration, or late: HTTPResponse, _ work: @escaping @Sendable () async -> HTTPResponse
    ) {
        let isAnswered = OnceFlag()
        let timer = Task {
            // The timer is cancelled when the work has ended.
            try? await Task.sleep(for: limit)
            if isAnswered.claim() { respond(late) }
        }
        Task { @concurrent in
            let response = await work()
            if isAnswered.claim() { respond(response) }
            timer.cancel()
        }
    }
}
