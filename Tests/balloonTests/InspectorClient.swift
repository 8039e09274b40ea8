import BalloonJSON
import BalloonTransport
import TestSupport
import Testing

/// A running `balloon dev` with its inspector, called as the page does.
struct InspectorClient {
    let server: ServingCommand
    /// The address, such as `http://127.0.0.1:8026`.
    let url: String
    let token: String
    private let transport: CurlTransport
    private let directory: TemporaryDirectory

    /// Starts `balloon dev` with these further arguments; the inspector has a free port.
    init(_ arguments: String = "", in directory: TemporaryDirectory) async throws {
        server = try await ServingCommand.dev("--inspector-listen 127.0.0.1:0 \(arguments)", in: directory)
        let line = try #require(server.greeting.split(separator: "\n").first { $0.contains("/#t=") })
        let page = try #require(line.split(separator: " ").last).split(separator: "#")
        url = String(page[0].dropLast())
        token = String(page[1].dropFirst(2))
        transport = try CurlTransport()
        self.directory = directory
    }

    /// The answer to a request; `headers` replace those of the page.
    func send(
        _ method: String, _ path: String, _ body: String = "", headers: [(name: String, value: String)]? = nil
    ) async throws -> TransportResponse {
        let request = TransportRequest(
            method: method, url: url + path,
            headers: headers ?? [("authorization", "Bearer " + token), ("content-type", "application/json")],
            body: Array(body.utf8), maximumResponseBytes: 64 << 20, allowsPlainHTTP: true)
        return try await transport.send(request)
    }

    /// The JSON of an answer with the expected status.
    @discardableResult
    func json(
        _ method: String, _ path: String, _ body: String = "", status: Int = 200,
        _ location: SourceLocation = #_sourceLocation
    ) async throws -> JSONValue {
        let answer = try await send(method, path, body)
        #expect(
            answer.status == status, "\(String(decoding: answer.body.prefix(500), as: UTF8.self))",
            sourceLocation: location)
        return try JSONDocument(answer.body).root
    }

    /// Creates a customer; returns the path of its resource.
    func customer(_ body: String = "{}") async throws -> String {
        let customer = try await json("POST", "/dev/v1/customers", body, status: 201)
        return "/dev/v1/customers/" + Self.encoded(try #require(customer["id"]?.string))
    }

    /// Waits for the first entry of a thread that matches, and returns it.
    func entry(_ customer: String, where wanted: (JSONValue) -> Bool) async throws -> JSONValue {
        var after = 0
        for _ in 0..<20 {
            let page = try await json("GET", "\(customer)/phone?after=\(after)&wait=10")
            if let entry = page["thread"]?.elements.first(where: wanted) { return entry }
            after = try #require(page["next"]?.int)
        }
        throw Missing()
    }

    /// Expects that the thread names the message `id` as answered, and a line of this kind as its answer.
    func expectsAnswer(
        to id: String, of customer: String, _ kind: String, _ location: SourceLocation = #_sourceLocation
    ) async throws {
        let thread = try await json("GET", "\(customer)/phone")["thread"].map { Array($0.elements) } ?? []
        let question = thread.first { $0["id"]?.string == id }
        let answer = thread.last { $0["answers"]?.string == id }
        #expect(question?["answered"]?.bool == true, sourceLocation: location)
        #expect(answer?["kind"]?.string == kind, sourceLocation: location)
    }

    struct Missing: Error {}

    static func encoded(_ text: String) -> String {
        text.utf8.map { byte in
            let isPlain = (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte & 0xDF) || byte == 0x2D
            return isPlain
                ? String(UnicodeScalar(byte)) : "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16)
        }.joined()
    }
}

extension JSONValue {
    /// The first element of an array.
    var firstElement: JSONValue? { elements.first { _ in true } }
}
