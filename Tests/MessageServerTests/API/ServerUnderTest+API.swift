import BalloonJSON
import BalloonPOSIX
import BalloonTransport
import BalloonWire
import HandlerKit
import MessageServer
import MessageStore
import ServerTestSupport
import Testing

/// The tokens of the API's tests; each text is hashed as the server's file would have it.
enum TestTokens {
    static let all = "bln_all"
    static let reader = "bln_reader"
    static let sender = "bln_sender"
    /// Reads the document for the checks of answers.
    static let documentReader = "bln_document"
    static let operatorOfOne = "bln_operator-of-one"

    /// Acts for the person `agent-7`.
    static let agent = "bln_agent"
    /// Acts for the person `lead`, with the right `supervise`.
    static let lead = "bln_lead"

    static var configuration: APIConfiguration {
        var configuration = APIConfiguration()
        configuration.tokens = [
            token("all", all, Set(APIRight.allCases)), token("reader", reader, [.read]),
            token("sender", sender, [.send]), token("document", documentReader, [.read]),
            token("operator-of-one", operatorOfOne, [.read, .operate], ["one"]),
            token("agent", agent, [.read, .send], person: Person(id: "agent-7", name: "Ana Secret")),
            token("lead", lead, [.read, .send, .supervise], person: Person(id: "lead")),
        ]
        return configuration
    }

    static func token(
        _ name: String, _ text: String, _ rights: Set<APIRight>, _ businesses: Set<String>? = nil,
        person: Person? = nil
    ) -> APIToken {
        APIToken(
            name: name, digest: SHA256.hash(Array(text.utf8)), businesses: businesses, rights: rights,
            person: person)
    }
}

extension ServerUnderTest {
    /// A server with the API's tokens on an admin listener of its own.
    static func withAPI(
        _ handler: any Handler = RecordingHandler(), adjust: (inout ServerConfiguration) -> Void = { _ in }
    ) async throws -> ServerUnderTest {
        try await ServerUnderTest(handler) {
            $0.adminListen = .required(.tcp(host: "127.0.0.1", port: 0))
            $0.api = TestTokens.configuration
            adjust(&$0)
        }
    }

    /// The answer of the API, compared with its schema.
    func api(
        _ path: String, _ token: String? = TestTokens.all, method: String = "GET", body: String = "",
        headers: [(name: String, value: String)] = []
    ) async throws -> TransportResponse {
        let admin = try #require(adminURL)
        let authorization = token.map { [(name: "Authorization", value: "Bearer \($0)")] } ?? []
        let answer = try await transport.send(
            TransportRequest(
                method: method, url: admin + path, headers: authorization + headers, body: Array(body.utf8),
                allowsPlainHTTP: true))
        if path.hasPrefix("/v1/"), !configuration.api.tokens.isEmpty {
            try await SchemaCheck.check(answer, to: method, path, self)
        }
        return answer
    }
}

extension TransportResponse {
    /// The body as JSON.
    var json: JSONValue { get throws { try JSONDocument(body).root } }

    /// The kind of the problem in the body: what follows `#` in its `type`.
    var problem: String? {
        guard header("Content-Type") == "application/problem+json" else { return nil }
        // A body that is not JSON has no kind of problem.
        let type = (try? JSONDocument(body))?.root["type"]?.string
        return type.flatMap { $0.split(separator: "#").last }.map(String.init)
    }
}
