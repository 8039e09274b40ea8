import BalloonJSON
import BalloonTransport
import ServerTestSupport
import Synchronization
import Testing

/// Compares answers with the schemas of the API's document: the part of JSON Schema that the document uses.
enum SchemaCheck {
    /// The document, which is the same for every server.
    private static let document = Mutex<JSONValue?>(nil)

    /// Records an issue for an answer that its operation's schema does not describe.
    static func check(
        _ answer: TransportResponse, to method: String, _ target: String, _ server: ServerUnderTest
    ) async throws {
        guard answer.status != 204, answer.status != 304, answer.status != 206, method != "OPTIONS" else {
            return
        }
        let root = try await loaded(server)
        let path = target.prefix { $0 != "?" }
        // A path may match two operations, one with literal segments and one with parameters; only one has the method.
        let operation = root["paths"]?.members.lazy.filter { matches($0.key, path) }
            .compactMap { $0.value[method.lowercased()] }.first
        let isProblem = answer.status >= 400
        guard let responses = operation?["responses"] else {
            // Paths and methods that the document does not have are refused.
            return #expect(answer.status == 404 || answer.status == 405, "\(method) \(target)")
        }
        let described = isProblem ? responses["default"] : responses["\(answer.status)"]
        let type = try #require(answer.header("Content-Type"))
        let content = try #require(described?["content"], "\(method) \(target) \(answer.status)")
        if content["*/*"] != nil { return }
        let schema = try #require(content[type]?["schema"], "\(method) \(target): \(type)")
        for difference in differences(try answer.json, schema, root, "") {
            Issue.record("\(method) \(target): \(difference)")
        }
    }

    static func loaded(_ server: ServerUnderTest) async throws -> JSONValue {
        if let known = document.withLock({ $0 }) { return known }
        let admin = try #require(server.adminURL)
        let answer = try await server.transport.send(
            TransportRequest(
                url: admin + "/v1/openapi.json",
                headers: [("Authorization", "Bearer \(TestTokens.documentReader)")], allowsPlainHTTP: true))
        let root = try answer.json
        document.withLock { $0 = root }
        return root
    }

    private static func matches(_ template: String, _ path: Substring) -> Bool {
        let (wanted, found) = (template.split(separator: "/"), path.split(separator: "/"))
        return wanted.count == found.count
            && zip(wanted, found).allSatisfy { $0.hasPrefix("{") || $0 == $1 }
    }

    private static func differences(
        _ value: JSONValue, _ schema: JSONValue, _ root: JSONValue, _ place: String
    ) -> [String] {
        if let reference = schema["$ref"]?.string, let name = reference.split(separator: "/").last {
            guard let target = root["components"]?["schemas"]?[String(name)] else {
                return ["\(place): \(reference) is not defined"]
            }
            return differences(value, target, root, place)
        }
        if let words = schema["enum"]?.elements, !words.contains(where: { $0.text == value.text }) {
            return ["\(place): is none of the words"]
        }
        switch schema["type"]?.string {
        case "object": return objectDifferences(value, schema, root, place)
        case "array":
            guard value.kind == .array else { return ["\(place): is not a list"] }
            let items = schema["items"]
            return value.elements.enumerated().flatMap { index, element in
                items.map { differences(element, $0, root, "\(place)/\(index)") } ?? []
            }
        case "string": return value.kind == .string ? [] : ["\(place): is not a string"]
        case "integer": return value.int != nil ? [] : ["\(place): is not an integer"]
        default: return []
        }
    }

    private static func objectDifferences(
        _ value: JSONValue, _ schema: JSONValue, _ root: JSONValue, _ place: String
    ) -> [String] {
        guard value.kind == .object else { return ["\(place): is not an object"] }
        var result: [String] = []
        for name in (schema["required"]?.elements).map(Array.init) ?? [] {
            guard let name = name.string, value[name] == nil else { continue }
            result.append("\(place)/\(name): is missing")
        }
        for (name, member) in value.members {
            if let described = schema["properties"]?[name] {
                result += differences(member, described, root, "\(place)/\(name)")
            } else if schema["additionalProperties"]?.bool == false {
                result.append("\(place)/\(name): is not described")
            }
        }
        return result
    }
}
