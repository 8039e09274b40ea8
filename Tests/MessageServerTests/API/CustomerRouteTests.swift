import BalloonJSON
import BalloonTransport
import BusinessMessages
import HandlerKit
import MessageStore
import ServerTestSupport
import Simulator
import TestSupport
import Testing

@testable import MessageServer

/// Notes, names and tags over the API.
@Suite struct CustomerRouteTests {
    private static let base = "/v1/businesses/one/"

    /// A server with an answered conversation, and the conversation's path.
    private func server(
        _ handler: RecordingHandler = RecordingHandler()
    ) async throws -> (ServerUnderTest, SimulatedCustomer, String) {
        let server = try await ServerUnderTest.withAPI(handler) { $0.api.requestsPerMinute = 100_000 }
        let customer = server.customer()
        _ = try await customer.post(customer.message(.text, text: "Hello"))
        let path = Self.base + "conversations/" + ConversationFiles.name(of: customer.id)
        #expect(try await eventually { try await server.api(path).json["lines"]?.int == 2 })
        return (server, customer, path)
    }

    private func post(
        _ server: ServerUnderTest, _ path: String, _ body: String, key: String? = nil,
        token: String = TestTokens.agent
    ) async throws -> TransportResponse {
        try await server.api(
            path, token, method: "POST", body: body,
            headers: key.map { [(name: "Idempotency-Key", value: $0)] } ?? [])
    }

    @Test func `a note is an internal line and an event, and no handler gets it`() async throws {
        let handler = RecordingHandler()
        let (server, customer, path) = try await server(handler)
        #expect(try await post(server, path + "/notes", #"{"text":"Wants the blue one"}"#).status == 200)
        let lines = try #require(try await server.api(path + "/messages").json["lines"]).elements.map(\.self)
        #expect(lines.map { $0["direction"]?.string } == ["inbound", "outbound", "internal"])
        #expect(
            lines[2]["kind"]?.string == "note" && lines[2]["message"]?["body"]?.string == "Wants the blue one"
        )
        #expect(lines[2]["person"]?["id"]?.string == "agent-7")
        let last = try await server.api(path).json["last"]
        #expect(last?["direction"]?.string == "outbound", "a note is no message")
        _ = try await customer.post(customer.message(.text, text: "Are you there?"))
        _ = await server.gateway.waitForMessages(count: 2, customer: customer.id)
        #expect(handler.seen.count == 2)
        let history = try handler.seen[1].conversation.read()
        #expect(history.allSatisfy { $0.kind == .text }, "the note is not in the history")
        let events = try #require(
            try await server.api("/v1/events?after=0", headers: [("Accept", "application/json")]).json[
                "events"])
        let noted = events.elements.filter { $0["type"]?.string == "conversation.noted" }
        #expect(noted.map { $0["line"]?["message"]?["body"]?.string } == ["Wants the blue one"])
        #expect(server.gateway.messages(for: customer.id).count == 2)
    }

    @Test func `a note with the same key is written once`() async throws {
        let (server, _, path) = try await server()
        var ids: Set<String?> = []
        for _ in 1...3 {
            ids.insert(
                try await post(server, path + "/notes", #"{"text":"Once"}"#, key: "k1").json["id"]?.string)
        }
        #expect(ids.count == 1)
        #expect(try await server.api(path).json["lines"]?.int == 3)
    }

    @Test func `a name and tags are shown, found and removed`() async throws {
        let (server, _, path) = try await server()
        let change = path + "/customer"
        var answer = try await post(server, change, #"{"name":"Ana Sousa","addTags":["vip","new"]}"#).json
        #expect(answer["customerName"]?.string == "Ana Sousa")
        answer = try await post(server, change, #"{"removeTags":["new"]}"#).json
        #expect(answer["tags"]?.elements.compactMap(\.string) == ["vip"])
        for (query, count) in [
            ("tag=vip", 1), ("tag=new", 0), ("q=sousa", 1), ("q=sousa&tag=vip", 1), ("q=new", 0),
        ] {
            let list = try await server.api(Self.base + "conversations?" + query).json["conversations"]
            #expect(list?.elements.count == count, "\(query)")
        }
        answer = try await post(server, change, #"{"name":"","removeTags":["vip"]}"#).json
        #expect(answer["customerName"] == nil && answer["tags"] == nil)
    }

    @Test(arguments: [
        ("notes", #"{"text":" "}"#), ("notes", "{}"), ("customer", "{}"), ("customer", #"{"name":"a\nb"}"#),
        ("customer", #"{"addTags":[""]}"#), ("customer", #"{"addTags":"vip"}"#),
        ("customer", #"{"addTags":[1]}"#), ("customer", #"{"note":"x"}"#),
    ])
    func `a body with an invalid member is refused and changes nothing`(action: String, body: String)
        async throws
    {
        let (server, _, path) = try await server()
        let answer = try await post(server, path + "/" + action, body)
        #expect(answer.status == 400)
        #expect(try await server.api(path).json["lines"]?.int == 2)
    }

    @Test func `a token without the right send writes no note, and an unknown conversation is not found`()
        async throws
    {
        let (server, _, path) = try await server()
        #expect(
            try await post(server, path + "/notes", #"{"text":"x"}"#, token: TestTokens.reader).status == 403)
        let unknown = Self.base + "conversations/" + String(repeating: "a", count: 64) + "/notes"
        #expect(try await post(server, unknown, #"{"text":"x"}"#).status == 404)
    }
}
