import BalloonHTTP

/// One operation of the business API: its method, path, right and parameters, and the function that answers it.
struct APIRoute: Sendable {
    typealias Body = OperationBody

    /// The form of the body of a successful answer.
    enum Answer: Sendable {
        /// JSON; `creates` when the status is 201 after something was created, and 200 after a dry run.
        case json(JSONSchema, creates: Bool = false)
        /// A stream of events, or a page of them.
        case events(page: JSONSchema)
        /// The bytes of a file.
        case file
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
    ///
    /// A path with `{slug}` names a business, which is resolved before the call.
    let path: String
    let right: APIRight
    var query: [APIParameter] = []
    /// The header fields that the operation reads.
    var headers: [APIParameter] = []
    var body = Body.none
    /// A short phrase for the OpenAPI document, such as "List the businesses".
    let summary: String
    let answer: Answer
    /// A thrown ``APIProblem`` is the answer; a `StoreError` is answered with its problem, a ``HandlerRefusal``
    /// with 409, and any other error with 500.
    let handler: Handler
}

extension APIRoute {
    /// Creates an operation that answers once with JSON, on a thread that may wait for the disk.
    init(
        _ method: HTTPMethod, _ path: String, may right: APIRight, query: [APIParameter] = [],
        headers: [APIParameter] = [], body: Body = .none, _ summary: String, _ schema: JSONSchema,
        answer: @escaping @Sendable (_ request: APIRequest) async throws -> APIAnswer
    ) {
        self.init(
            method: method, path: path, right: right, query: query, headers: headers, body: body,
            summary: summary, answer: .json(schema),
            handler: .blocking { request, _ in try await answer(request) })
    }
}
