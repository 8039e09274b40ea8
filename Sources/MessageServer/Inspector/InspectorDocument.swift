import BalloonHTTP
import BalloonJSON

/// The OpenAPI 3.1 document of the operations below `/dev/v1`, generated from the same table as the routes.
enum InspectorDocument {
    static let path = "/dev/v1/openapi.json"

    /// Adds the operation that answers with the document of all operations.
    static func completing(_ routes: [InspectorRoute]) -> [InspectorRoute] {
        let description = InspectorRoute(.get, path) { _ in .none }
            .describing("Read this document", answer: InspectorSchema.anyObject)
        let json = json(of: routes + [description])
        return routes + [
            InspectorRoute(.get, path) { _ in .json(json) }
                .describing("Read this document", answer: InspectorSchema.anyObject)
        ]
    }

    static func json(of routes: [InspectorRoute]) -> [UInt8] {
        OpenAPIDocument(title: "Balloon's inspector").json(
            of: routes, at: { ($0.path, $0.method) }, write: write
        ) { writer in
            writer.key("responses")
            writer.raw(Array(responses.utf8))
        }
    }

    private static func write(_ route: InspectorRoute, to writer: inout JSONWriter) {
        let description = route.description
        writer.field("summary", description?.summary ?? "")
        writer.field("operationId", operationID(of: route))
        writer.key("parameters")
        writer.array { writer in
            for segment in route.path.split(separator: "/") where segment.hasPrefix("{") {
                let name = String(segment.dropFirst().dropLast())
                write(name, "path", InspectorSchema.text, isRequired: true, to: &writer)
            }
            for parameter in description?.query ?? [] {
                write(parameter.name, "query", parameter.schema, isRequired: false, to: &writer)
            }
        }
        if let body = description?.body {
            writer.key("requestBody")
            writer.object { writer in
                writer.field("required", true)
                var type = "application/json"
                if case .pulled = route.body { type = "application/octet-stream" }
                write(body, type, to: &writer)
            }
        }
        writer.key("responses")
        writer.object { writer in
            writer.key("\(description?.status ?? 200)")
            writer.object { writer in
                writer.field("description", description?.answer == nil ? "Done" : "The answer")
                guard let description, let answer = description.answer else { return }
                write(answer, description.mediaType, to: &writer)
            }
            writer.key("default")
            writer.raw(Array(##"{"$ref":"#/components/responses/problem"}"##.utf8))
        }
    }

    private static func write(_ schema: String, _ type: String, to writer: inout JSONWriter) {
        writer.key("content")
        writer.object { writer in
            writer.key(type)
            writer.object { writer in
                writer.key("schema")
                writer.raw(Array(schema.utf8))
            }
        }
    }

    private static func write(
        _ name: String, _ place: String, _ schema: String, isRequired: Bool, to writer: inout JSONWriter
    ) {
        writer.object { writer in
            writer.field("name", name)
            writer.field("in", place)
            if isRequired { writer.field("required", true) }
            writer.key("schema")
            writer.raw(Array(schema.utf8))
        }
    }

    /// Returns the `operationId` of a route, such as `get-customers-id-phone`.
    private static func operationID(of route: InspectorRoute) -> String {
        let words = route.path.split(separator: "/").dropFirst(2).map { segment in
            segment.filter { $0 != "{" && $0 != "}" }
        }
        return ([route.method.rawValue.lowercased()] + words).joined(separator: "-")
    }

    private static let responses = """
        {"problem":{"description":"The reason of a refusal (RFC 9457)","content":{"application/problem+json":\
        {"schema":\(problem)}}}}
        """

    private static let problem = InspectorSchema.object(
        ["title": InspectorSchema.text, "status": InspectorSchema.count, "detail": InspectorSchema.text],
        optional: [
            "pointer": InspectorSchema.text, "offered": InspectorSchema.list(InspectorSchema.text),
        ])
}
