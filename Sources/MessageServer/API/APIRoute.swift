import BalloonHTTP

/// One operation of the business API: its method, path, right and parameters, and the function that answers it.
struct APIRoute: Sendable {
    /// The delivery of a request's body.
    enum Body: Sendable {
        /// The operation has no body.
        case none
        /// A JSON object of up to so many bytes.
        case json(maximumBytes: Int)
        /// Bytes in pieces, up to a limit.
        case pulled(maximumBytes: Int)
    }

    /// The function that answers.
    enum Handler: Sendable {
        /// Called on the shard, must not block; returns nil when the responder will answer.
        case direct(@Sendable (APIRequest, APIResponder) -> APIAnswer?)
        /// Called on a thread that may block; returns nil when it has used the responder.
        case blocking(@Sendable (APIRequest, APIResponder) async throws -> APIAnswer?)
    }

    let method: HTTPMethod
    /// The path with parameters in braces; see ``APIPath``.
    let path: String
    let right: APIRight
    let query: [APIParameter]
    let body: Body
    /// A short phrase for the document, such as "List the businesses".
    let summary: String
    /// The schema of the content of a 200.
    let schema: APISchema
    /// The header fields that the operation reads.
    private(set) var headers: [APIParameter] = []
    /// The schema of the body, where the path does not say it.
    private(set) var describedBody: APISchema?
    /// Whether the operation answers with 201, unless it only checks.
    private(set) var creates = false
    let handler: Handler

    /// Creates an operation that answers on the shard, or later through the responder: for streams.
    ///
    /// A path with `{slug}` names a business, which is resolved before the call.
    init(
        _ method: HTTPMethod, _ path: String, may right: APIRight, query: [APIParameter] = [],
        body: Body = .none, _ summary: String, _ schema: APISchema = .any,
        direct: @escaping @Sendable (_ request: APIRequest, _ responder: APIResponder) -> APIAnswer?
    ) {
        self.init(method, path, right, query, body, summary, schema, .direct(direct))
    }

    /// Creates an operation that answers once, on a thread that may wait for the disk.
    ///
    /// A thrown ``APIProblem`` is the answer; another error becomes a problem of its kind.
    init(
        _ method: HTTPMethod, _ path: String, may right: APIRight, query: [APIParameter] = [],
        body: Body = .none, _ summary: String, _ schema: APISchema = .any,
        answer: @escaping @Sendable (_ request: APIRequest) async throws -> APIAnswer
    ) {
        self.init(
            method, path, right, query, body, summary, schema,
            .blocking { request, _ in try await answer(request) })
    }

    /// Creates an operation that answers once, and may wait for more than the disk.
    ///
    /// It calls ``APIResponder/releasePermit()`` before such a wait, and returns nil when the client is gone.
    init(
        _ method: HTTPMethod, _ path: String, may right: APIRight, query: [APIParameter] = [],
        body: Body, _ summary: String, _ schema: APISchema,
        waiting:
            @escaping @Sendable (
                _ request: APIRequest, _ responder: APIResponder
            ) async throws -> APIAnswer?
    ) {
        self.init(method, path, right, query, body, summary, schema, .blocking(waiting))
    }

    /// Creates an operation that streams its answer from a thread that may wait for the disk.
    init(
        _ method: HTTPMethod, _ path: String, may right: APIRight, query: [APIParameter] = [],
        _ summary: String,
        streaming: @escaping @Sendable (_ request: APIRequest, _ responder: APIResponder) async throws -> Void
    ) {
        self.init(
            method, path, right, query, .none, summary, .content,
            .blocking { request, responder in
                try await streaming(request, responder)
                return nil
            })
    }

    private init(
        _ method: HTTPMethod, _ path: String, _ right: APIRight, _ query: [APIParameter], _ body: Body,
        _ summary: String, _ schema: APISchema, _ handler: Handler
    ) {
        self.method = method
        self.path = path
        self.right = right
        self.query = query
        self.body = body
        self.summary = summary
        self.schema = schema
        self.handler = handler
    }

    /// The same operation with a description of its body and header fields.
    func describing(
        body: APISchema, headers: [APIParameter] = [], creates: Bool = false
    ) -> APIRoute {
        var route = self
        route.describedBody = body
        route.headers = headers
        route.creates = creates
        return route
    }

    /// Whether the operation changes something.
    var isChange: Bool { method != .get }
}
