import BalloonHTTP
import BalloonJSON

/// The frame of an OpenAPI 3.1 document, in which every operation needs a bearer token.
struct OpenAPIDocument {
    let title: String

    /// Writes the OpenAPI document of the operations, grouped by path in their order.
    ///
    /// `write` writes the members of one operation. `components` writes the members of the object
    /// `components`.
    func json<Operation>(
        of operations: [Operation], at place: (Operation) -> (path: String, method: HTTPMethod),
        write: (Operation, inout JSONWriter) -> Void, components: (inout JSONWriter) -> Void
    ) -> [UInt8] {
        var paths: [String] = []
        for operation in operations where !paths.contains(place(operation).path) {
            paths.append(place(operation).path)
        }
        return JSONWriter.object(reservingCapacity: 1 << 15) { writer in
            writer.field("openapi", "3.1.0")
            writer.key("info")
            writer.object { writer in
                writer.field("title", title)
                writer.field("version", "1")
            }
            writer.key("security")
            writer.raw(Array(#"[{"token":[]}]"#.utf8))
            writer.key("paths")
            writer.object { writer in
                for path in paths {
                    writer.key(path)
                    writer.object { writer in
                        for operation in operations where place(operation).path == path {
                            writer.key(place(operation).method.rawValue.lowercased())
                            writer.object { write(operation, &$0) }
                        }
                    }
                }
            }
            writer.key("components")
            writer.object { writer in
                writer.key("securitySchemes")
                writer.raw(Array(#"{"token":{"type":"http","scheme":"bearer"}}"#.utf8))
                components(&writer)
            }
        }
    }
}
