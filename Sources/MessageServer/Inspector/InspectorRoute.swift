package import BalloonHTTP
package import BalloonJSON

/// One operation of the inspector below `/dev/v1`.
package struct InspectorRoute: Sendable {
    /// The body of a request.
    package enum Body: Sendable {
        /// None.
        case none
        /// One JSON object, up to a limit.
        case json(maximumBytes: Int)
        /// Pieces that the operation reads, up to a limit.
        case pulled(maximumBytes: Int)
    }

    /// The answer to a request.
    package enum Answer: Sendable {
        /// JSON with a status.
        case json([UInt8], HTTPStatus = .ok)
        /// No content.
        case none
        /// An answer whose body the operation writes piece by piece, without a time limit, until the client closes the connection.
        case stream(HTTPStreamHead, @Sendable (HTTPBodyWriter) async throws -> Void)
    }

    /// Answers a request; runs on a thread that may wait for a disk.
    package typealias Operation = @Sendable (InspectorRequest) async throws -> Answer

    let method: HTTPMethod
    let path: String
    let body: Body
    let operation: Operation
    /// The description for the OpenAPI document; nil only before ``describing(_:query:body:answer:mediaType:status:)``.
    private(set) var description: InspectorDescription?

    /// Creates an operation; the path is as for ``HTTPRoute``.
    package init(
        _ method: HTTPMethod, _ path: String, body: Body = .none, operation: @escaping Operation
    ) {
        self.method = method
        self.path = path
        self.body = body
        self.operation = operation
    }

    /// Returns this operation with its description for the OpenAPI document; the schemas are JSON.
    package func describing(
        _ summary: String, query: KeyValuePairs<String, JSONSchema> = [:], body: JSONSchema? = nil,
        answer: JSONSchema? = nil, mediaType: String = "application/json", status: Int? = nil
    ) -> InspectorRoute {
        var route = self
        route.description = InspectorDescription(
            summary: summary, query: query.map { ($0.key, $0.value) }, body: body, answer: answer,
            mediaType: mediaType, status: status ?? (answer == nil ? 204 : 200))
        return route
    }
}

/// A request of the inspector that has the token.
package struct InspectorRequest: Sendable {
    private let request: HTTPRequest
    private let query: HTTPQuery
    /// The reader of a pulled body; nil for other operations.
    package var bodyReader: HTTPBodyReader? { request.bodyReader }

    init(_ request: HTTPRequest) throws(HTTPRefusal) {
        self.request = request
        query = try HTTPQuery(request.query)
    }

    /// The value of a parameter in the path; empty when the path has none of that name.
    package func path(_ name: String) -> String { request.parameter(name) ?? "" }

    /// The value of a parameter in the query; nil when it is missing.
    package subscript(name: String) -> String? { query[name] }

    /// A number in the query; throws when it is outside the range.
    package func int(_ name: String, in range: ClosedRange<Int>, or missing: Int) throws(InspectorProblem)
        -> Int
    {
        guard let text = query[name] else { return missing }
        guard let number = Int(text), range.contains(number) else {
            throw InspectorProblem(
                .badRequest, "\(name) must be a number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    /// The body, a JSON object.
    package func object() throws(InspectorProblem) -> JSONValue {
        let document: JSONDocument
        do { document = try JSONDocument(Array(request.body)) } catch {
            throw InspectorProblem(
                .badRequest, "the body is no JSON: \(error.reason) at byte \(error.offset)")
        }
        guard document.root.kind == .object else {
            throw InspectorProblem("the body is not a JSON object", at: document.root)
        }
        return document.root
    }

    /// The value of a header field.
    package func field(_ name: String) -> String? { request.text(HTTPFieldName(name)) }
}

/// The description of an operation in the inspector's OpenAPI document.
package struct InspectorDescription: Sendable {
    /// A short phrase, such as "List the customers".
    package let summary: String
    /// The names and schemas of the query's parameters, all optional.
    var query: [(name: String, schema: JSONSchema)] = []
    /// The schema of the request's body; nil when the operation has none.
    var body: JSONSchema?
    /// The schema of a successful answer; nil when it has no content.
    var answer: JSONSchema?
    /// The media type of a successful answer.
    var mediaType = "application/json"
    /// The status of a successful answer.
    var status = 200
}
