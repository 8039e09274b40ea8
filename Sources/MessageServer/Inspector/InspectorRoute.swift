package import BalloonHTTP
package import BalloonJSON

/// One operation of the inspector below `/dev/v1`.
package struct InspectorRoute: Sendable {
    /// The answer to a request.
    package enum Answer: Sendable {
        /// JSON, with the status of the route.
        case json([UInt8])
        /// No content.
        case none
        /// An answer whose body the operation writes piece by piece, without a time limit, until the client closes the connection.
        case stream(HTTPStreamHead, @Sendable (HTTPBodyWriter) async throws -> Void)
    }

    /// Answers a request; runs on a thread that may wait for a disk.
    package typealias Operation = @Sendable (InspectorRequest) async throws -> Answer

    let body: OperationBody
    let status: HTTPStatus
    let operation: Operation
    /// The operation in the OpenAPI document.
    let described: OpenAPIOperation

    /// Creates an operation with a summary such as "List the customers"; the path is as for ``HTTPRoute``.
    ///
    /// The parameters of the query are optional. Without a schema of the answer, it has no content.
    package init(
        _ method: HTTPMethod, _ path: String, _ summary: String,
        query: KeyValuePairs<String, JSONSchema> = [:], body: OperationBody = .none,
        answer: JSONSchema? = nil, mediaType: String = "application/json", status: HTTPStatus? = nil,
        operation: @escaping Operation
    ) {
        self.body = body
        self.status = status ?? (answer == nil ? .noContent : .ok)
        self.operation = operation
        let words = path.split(separator: "/").dropFirst(2).map { $0.filter { $0 != "{" && $0 != "}" } }
        let parameters = APIPath.names(in: path).map { ($0, "path", JSONSchema.text) }
        described = OpenAPIOperation(
            method: method, path: path,
            identifier: ([method.rawValue.lowercased()] + words).joined(separator: "-"), summary: summary,
            parameters: (parameters + query.map { ($0, "query", $1) }).map { name, place, schema in
                OpenAPIParameter(name: name, place: place, schema: schema, isRequired: place == "path")
            }, body: body.described,
            responses: [
                (
                    "\(self.status.code)", answer == nil ? "Done" : "The answer",
                    answer.map { [(mediaType, $0)] } ?? []
                )
            ])
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
