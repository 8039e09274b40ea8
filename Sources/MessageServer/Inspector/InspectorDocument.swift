import BalloonHTTP

/// The OpenAPI 3.1 document of the operations below `/dev/v1`, generated from the same table as the routes.
enum InspectorDocument {
    static let path = "/dev/v1/openapi.json"

    /// Adds the operation that answers with the document of all operations.
    static func completing(_ routes: [InspectorRoute]) -> [InspectorRoute] {
        func reading(_ json: [UInt8]) -> InspectorRoute {
            InspectorRoute(.get, path, "Read this document", answer: .anyObject) { _ in .json(json) }
        }
        return routes + [reading(json(of: routes + [reading([])]))]
    }

    static func json(of routes: [InspectorRoute]) -> [UInt8] {
        let answer = JSONSchema.answer(
            "The reason of a refusal (RFC 9457)", APIProblem.mediaType,
            .object(
                ["title": .text, "status": .count, "detail": .text],
                optional: ["pointer": .text, "offered": .list(.text)]))
        return OpenAPIDocument(
            title: "Balloon's inspector", problem: ##"{"$ref":"#/components/responses/problem"}"##,
            responses: #"{"problem":\#(answer.json)}"#
        ).json(of: routes.map(\.described))
    }
}
