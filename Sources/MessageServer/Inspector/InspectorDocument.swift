import BalloonHTTP

/// The OpenAPI 3.1 document of the operations below `/dev/v1`, generated from the same table as the routes.
enum InspectorDocument {
    static let path = "/dev/v1/openapi.json"

    /// Adds the operation that answers with the document of all operations.
    static func completing(_ routes: [InspectorRoute]) -> [InspectorRoute] {
        func reading(_ json: [UInt8]) -> InspectorRoute {
            InspectorRoute(.get, path) { _ in .json(json) }
                .describing("Read this document", answer: .anyObject)
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

extension InspectorRoute {
    fileprivate var described: OpenAPIOperation {
        let words = path.split(separator: "/").dropFirst(2).map { $0.filter { $0 != "{" && $0 != "}" } }
        var type = "application/json"
        if case .pulled = body { type = "application/octet-stream" }
        return OpenAPIOperation(
            method: method, path: path,
            identifier: ([method.rawValue.lowercased()] + words).joined(separator: "-"),
            summary: description?.summary ?? "",
            parameters: APIPath.names(in: path).map { name in
                OpenAPIParameter(name: name, place: "path", schema: .text, isRequired: true)
            }
                + (description?.query ?? []).map { name, schema in
                    OpenAPIParameter(name: name, place: "query", schema: schema, isRequired: false)
                }, body: description?.body.map { (type, $0, true) },
            responses: [
                (
                    "\(description?.status ?? 200)", description?.answer == nil ? "Done" : "The answer",
                    description?.answer.map { [(description?.mediaType ?? "", $0)] } ?? []
                )
            ])
    }
}
