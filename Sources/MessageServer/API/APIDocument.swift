import BalloonHTTP
import BalloonJSON

/// The OpenAPI 3.1 document of the business API, generated from the same table as its routes.
enum APIDocument {
    private static let path = "/v1/openapi.json"

    /// Returns `operations` and one more operation, which answers with the OpenAPI document of all of them.
    static func completing(_ operations: [APIRoute]) -> [APIRoute] {
        let description = APIRoute(.get, path, may: .read, "Read this document") { _, _ in nil }
        let json = json(of: operations + [description])
        return operations + [
            APIRoute(.get, path, may: .read, description.summary) { _, _ in APIAnswer(json: json) }
        ]
    }

    /// The OpenAPI document of these operations as JSON.
    static func json(of operations: [APIRoute]) -> [UInt8] {
        OpenAPIDocument(title: "Balloon's business API").json(
            of: operations, at: { ($0.path, $0.method) }, write: write
        ) { writer in
            writer.key("schemas")
            writer.object { writer in
                for schema in APISchema.allCases {
                    writer.key(schema.rawValue)
                    writer.raw(Array(schema.json.utf8))
                }
            }
        }
    }

    private static func write(_ operation: APIRoute, to writer: inout JSONWriter) {
        writer.field("operationId", operation.identifier)
        writer.field("summary", operation.summary)
        writer.field("description", "Requires the right \(operation.right.rawValue).")
        let path = APIPath.names(in: operation.path).compactMap(APIPath.parameter)
        if !path.isEmpty || !operation.query.isEmpty || !operation.headers.isEmpty {
            writer.key("parameters")
            writer.array { writer in
                for parameter in path { write(parameter, in: "path", to: &writer) }
                for parameter in operation.query { write(parameter, in: "query", to: &writer) }
                for parameter in operation.headers { write(parameter, in: "header", to: &writer) }
            }
        }
        if let type = operation.body.mediaType {
            writer.key("requestBody")
            writer.object { writer in
                writer.field("required", operation.bodySchema != .empty)
                writer.key("content")
                content(type, operation.bodySchema, to: &writer)
            }
        }
        writer.key("responses")
        writer.object { writer in writeResponses(operation, to: &writer) }
    }

    private static func writeResponses(_ operation: APIRoute, to writer: inout JSONWriter) {
        let type = operation.schema == .content ? "*/*" : "application/json"
        let statuses =
            operation.schema == .content
            ? [("200", "The content"), ("206", "A part of the content")]
            : (operation.creates ? [("201", "The answer")] : [])
                + (operation.creates && operation.query.isEmpty ? [] : [("200", "The answer")])
        for (status, description) in statuses {
            writer.key(status)
            writer.object { writer in
                writer.field("description", description)
                writer.key("content")
                if operation.schema == .eventPage {
                    writeEvents(to: &writer)
                } else {
                    content(type, operation.schema, to: &writer)
                }
            }
        }
        if operation.method == .get, operation.schema != .eventPage {
            writer.key("304")
            writer.object { $0.field("description", "The client has the content") }
        }
        writer.key("default")
        writer.object { writer in
            writer.field("description", "A problem")
            writer.key("content")
            content(APIProblem.mediaType, .problem, to: &writer)
        }
    }

    /// The stream of events, which stays open, and the page that a caller gets who accepts JSON only.
    private static func writeEvents(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.key("text/event-stream")
            writer.object { writer in
                writer.key("schema")
                writer.object { writer in
                    writer.field("type", "string")
                    writer.field(
                        "description",
                        "Events as HTML, \"Server-sent events\", describes them: id, event and data, which is an Event. The stream ends with the server or the token."
                    )
                    writer.field("contentMediaType", "text/event-stream")
                }
            }
            writer.key("application/json")
            writer.object { writer in
                writer.key("schema")
                writer.raw(Array(APISchema.eventPage.reference.utf8))
            }
        }
    }

    private static func content(_ type: String, _ schema: APISchema, to writer: inout JSONWriter) {
        writer.object { writer in
            writer.key(type)
            writer.object { writer in
                writer.key("schema")
                writer.raw(Array(schema.reference.utf8))
                guard let example = schema.example else { return }
                writer.key("example")
                writer.raw(Array(example.utf8))
            }
        }
    }

    private static func write(
        _ parameter: APIParameter, in place: String, to writer: inout JSONWriter
    ) {
        writer.object { writer in
            writer.field("name", parameter.name)
            writer.field("in", place)
            if place == "path" || parameter.isRequired { writer.field("required", true) }
            writer.field("description", parameter.summary)
            writer.key("schema")
            if parameter.isRepeatable {
                writer.object { writer in
                    writer.field("type", "array")
                    writer.key("items")
                    write(parameter.format, to: &writer)
                }
            } else {
                write(parameter.format, to: &writer)
            }
        }
    }

    private static func write(_ format: APIParameter.Format, to writer: inout JSONWriter) {
        writer.object { writer in
            switch format {
            case .text, .identifier:
                writer.field("type", "string")
                writer.field("minLength", 1)
            case .integer(let range):
                writer.field("type", "integer")
                writer.field("minimum", range.lowerBound)
                if range.upperBound < Int.max { writer.field("maximum", range.upperBound) }
            case .choice(let words):
                writer.field("type", "string")
                writer.key("enum")
                writer.array { writer in for word in words { writer.string(word) } }
            case .time:
                writer.field("type", "string")
                writer.field("format", "date-time")
            case .flag: writer.field("type", "boolean")
            case .hash:
                writer.field("type", "string")
                writer.field("pattern", "^[0-9a-f]{64}$")
            case .key:
                writer.field("type", "string")
                writer.field("pattern", "^[!-~]{1,200}$")
            case .field: writer.field("type", "string")
            }
        }
    }
}

extension APIRoute {
    /// The `operationId` in the OpenAPI document, such as `getBusinessesSlugHandlerLog`.
    var identifier: String {
        let words = path.split(whereSeparator: { "/{}.".contains($0) }).dropFirst()
        return words.reduce(method.rawValue.lowercased()) { $0 + $1.prefix(1).uppercased() + $1.dropFirst() }
    }

    /// The schema of the request's body; any object unless the operation describes its body.
    var bodySchema: APISchema { describedBody ?? .any }
}

extension APIRoute.Body {
    /// The media type of the body; nil when there is none.
    fileprivate var mediaType: String? {
        switch self {
        case .none: nil
        case .json: "application/json"
        case .pulled: "application/octet-stream"
        }
    }
}
