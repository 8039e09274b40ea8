import BalloonHTTP
import BalloonJSON

/// One operation in an OpenAPI document.
struct OpenAPIOperation {
    let method: HTTPMethod
    let path: String
    /// The `operationId`.
    let identifier: String
    let summary: String
    var description: String?
    /// Nil omits the member.
    var parameters: [OpenAPIParameter]?
    var body: (type: String, schema: JSONSchema, isRequired: Bool)?
    /// The successful answers; one without content has no types.
    var responses: [(status: String, description: String, content: [(type: String, schema: JSONSchema)])]

    fileprivate var schemas: [JSONSchema] {
        responses.flatMap { $0.content.map(\.schema) } + (body.map { [$0.schema] } ?? [])
    }
}

/// One parameter of an operation in an OpenAPI document.
struct OpenAPIParameter {
    let name: String
    let place: String
    let schema: JSONSchema
    let isRequired: Bool
    var description: String?
}

/// An OpenAPI 3.1 document, in which every operation needs a bearer token.
struct OpenAPIDocument {
    let title: String
    /// The answer of every operation that fails, as JSON.
    let problem: JSONSchema
    /// The components beside the schemas, as JSON.
    var responses: String?

    /// The document of these operations, grouped by path in their order.
    func json(of operations: [OpenAPIOperation]) -> [UInt8] {
        var paths: [String] = []
        for operation in operations where !paths.contains(operation.path) { paths.append(operation.path) }
        var schemas = problem.components
        for operation in operations {
            for schema in operation.schemas { schemas.merge(schema.components) { first, _ in first } }
        }
        return JSONWriter.object(reservingCapacity: 1 << 15) { writer in
            writer.fields([
                "openapi": "3.1.0", "info": JSONObject(["title": title, "version": "1"]),
                "security": JSONText(#"[{"token":[]}]"#.utf8),
            ])
            writer.object("paths") { writer in
                for path in paths {
                    writer.object(path) { writer in
                        for operation in operations where operation.path == path {
                            writer.object(operation.method.rawValue.lowercased()) {
                                write(operation, to: &$0)
                            }
                        }
                    }
                }
            }
            writer.object("components") { writer in
                writer.raw("securitySchemes", #"{"token":{"type":"http","scheme":"bearer"}}"#)
                if let responses { writer.raw("responses", responses) }
                guard !schemas.isEmpty else { return }
                writer.object("schemas") { writer in
                    for (name, json) in schemas.sorted(by: { $0.key < $1.key }) { writer.raw(name, json) }
                }
            }
        }
    }

    private func write(_ operation: OpenAPIOperation, to writer: inout JSONWriter) {
        writer.field("operationId", operation.identifier)
        writer.field("summary", operation.summary)
        writer.field("description", operation.description)
        if let parameters = operation.parameters {
            writer.objects("parameters", parameters) { parameter, writer in
                writer.fields(["name": parameter.name, "in": parameter.place])
                if parameter.isRequired { writer.field("required", true) }
                writer.field("description", parameter.description)
                writer.raw("schema", parameter.schema.json)
            }
        }
        if let body = operation.body {
            writer.object("requestBody") { writer in
                writer.field("required", body.isRequired)
                write([(body.type, body.schema)], to: &writer)
            }
        }
        writer.object("responses") { writer in
            for response in operation.responses {
                writer.object(response.status) { writer in
                    writer.field("description", response.description)
                    write(response.content, to: &writer)
                }
            }
            writer.raw("default", problem.json)
        }
    }

    private func write(_ content: [(type: String, schema: JSONSchema)], to writer: inout JSONWriter) {
        guard !content.isEmpty else { return }
        writer.object("content") { writer in
            for (type, schema) in content {
                writer.object(type) { writer in
                    writer.raw("schema", schema.json)
                    if let example = schema.example { writer.raw("example", example) }
                }
            }
        }
    }
}

extension JSONWriter {
    fileprivate mutating func raw(_ name: String, _ json: String) {
        key(name)
        raw(json.utf8)
    }
}
