import BalloonHTTP

/// The OpenAPI 3.1 document of the business API, generated from the same table as its routes.
enum APIDocument {
    private static let path = "/v1/openapi.json"

    /// Returns `operations` and one more operation, which answers with the OpenAPI document of all of them.
    static func completing(_ operations: [APIRoute]) -> [APIRoute] {
        func reading(_ json: [UInt8]) -> APIRoute {
            APIRoute(
                method: .get, path: path, right: .read, summary: "Read this document", answer: .json(.any),
                handler: .direct { _, _ in APIAnswer(json: json) })
        }
        return operations + [reading(json(of: operations + [reading([])]))]
    }

    /// The OpenAPI document of these operations as JSON.
    static func json(of operations: [APIRoute]) -> [UInt8] {
        OpenAPIDocument(title: "Balloon's business API", problem: .problemAnswer).json(
            of: operations.map(\.described))
    }
}

extension APIRoute {
    /// The `operationId` in the OpenAPI document, such as `getBusinessesSlugHandlerLog`.
    private var identifier: String {
        let words = path.split(whereSeparator: { "/{}.".contains($0) }).dropFirst()
        return words.reduce(method.rawValue.lowercased()) { $0 + $1.prefix(1).uppercased() + $1.dropFirst() }
    }

    fileprivate var described: OpenAPIOperation {
        let parameters =
            APIPath.names(in: path).compactMap(APIPath.parameter).map { $0.described(in: "path") }
            + query.map { $0.described(in: "query") } + headers.map { $0.described(in: "header") }
        return OpenAPIOperation(
            method: method, path: path, identifier: identifier, summary: summary,
            description: "Requires the right \(right.rawValue).",
            parameters: parameters.isEmpty ? nil : parameters,
            body: body.described, responses: responses)
    }

    private var responses:
        [(status: String, description: String, content: [(type: String, schema: JSONSchema)])]
    {
        let unchanged = ("304", "The client has the content", [(type: String, schema: JSONSchema)]())
        switch answer {
        case .file:
            let content = [(type: "*/*", schema: JSONSchema.content)]
            return [("200", "The content", content), ("206", "A part of the content", content), unchanged]
        case .events(let page):
            return [
                ("200", "The answer", [("text/event-stream", .eventStream), ("application/json", page)])
            ]
        case .json(let schema, let creates):
            let content = [(type: "application/json", schema: schema)]
            // A dry run, which a parameter asks for, creates nothing.
            return (creates ? [("201", "The answer", content)] : [])
                + (creates && query.isEmpty ? [] : [("200", "The answer", content)])
                + (method == .get ? [unchanged] : [])
        }
    }
}

extension APIParameter {
    fileprivate func described(in place: String) -> OpenAPIParameter {
        OpenAPIParameter(
            name: name, place: place, schema: isRepeatable ? .list(format.schema) : format.schema,
            isRequired: place == "path" || isRequired, description: summary)
    }
}

extension JSONSchema {
    /// Any JSON object.
    static let any = JSONSchema.anyObject.named("Any")
    /// The bytes of a file.
    fileprivate static let content = JSONSchema("{}").named("Content")
    fileprivate static let eventStream: JSONSchema = #"""
        {"type":"string","contentMediaType":"text/event-stream","description":\#
        "Events as HTML, \"Server-sent events\", describes them: id, event and data, which is an Event. The stream ends with the server or the token."}
        """#
    /// The answer of an operation that failed.
    fileprivate static let problemAnswer = JSONSchema.answer(
        "A problem", APIProblem.mediaType, .problem)
}
