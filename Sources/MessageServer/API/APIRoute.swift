import BalloonHTTP

/// One operation of the business API: its method, path, right and parameters, and the function that answers it.
struct APIRoute: Sendable {
    /// The way in which the operation receives a request's body.
    enum Body: Sendable {
        /// The operation has no body.
        case none
        /// A JSON object of at most `maximumBytes` bytes.
        case json(maximumBytes: Int)
        /// Any bytes, at most as many as `maximumBytes` returns, which the operation reads in pieces.
        case pulled(maximumBytes: @Sendable () -> Int)
    }

    /// The function that answers a request, with the thread on which it runs.
    enum Handler: Sendable {
        /// A function that runs on the connection's shard, an event loop, so it must not block; it returns
        /// nil when it answers later through the responder.
        case direct(@Sendable (APIRequest, APIResponder) -> APIAnswer?)
        /// A function that runs on a thread that may block; it returns nil when it has answered through the
        /// responder.
        case blocking(@Sendable (APIRequest, APIResponder) async throws -> APIAnswer?)
    }

    let method: HTTPMethod
    /// The path with parameters in braces; see ``APIPath``.
    let path: String
    let right: APIRight
    let query: [APIParameter]
    let body: Body
    /// A short phrase for the OpenAPI document, such as "List the businesses".
    let summary: String
    /// The schema of the body of a successful answer.
    let schema: APISchema
    /// The header fields that the operation reads.
    private(set) var headers: [APIParameter] = []
    /// The schema of the request's body in the OpenAPI document; nil when the operation does not describe its body.
    private(set) var describedBody: APISchema?
    /// Whether the operation answers with 201 when it has created something; a dry run answers with 200.
    private(set) var creates = false
    let handler: Handler

    /// Creates an operation that runs on the connection's shard and answers at once, or later through the
    /// responder.
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
    /// A thrown ``APIProblem`` is the answer. A `StoreError` is answered with its problem, any other error
    /// with 500.
    init(
        _ method: HTTPMethod, _ path: String, may right: APIRight, query: [APIParameter] = [],
        body: Body = .none, _ summary: String, _ schema: APISchema = .any,
        answer: @escaping @Sendable (_ request: APIRequest) async throws -> APIAnswer
    ) {
        self.init(
            method, path, right, query, body, summary, schema,
            .blocking { request, _ in try await answer(request) })
    }

    /// Creates an operation that answers once, and may wait for something other than the disk, such as the
    /// gateway.
    ///
    /// `waiting` calls ``APIResponder/releasePermit()`` before such a wait, and returns nil when the client
    /// has disconnected.
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

    /// Returns this operation with a description of its request's body and header fields for the OpenAPI document.
    func describing(
        body: APISchema? = nil, headers: [APIParameter] = [], creates: Bool = false
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
