import BalloonJSON
import BalloonTransport
import BusinessMessages
import Testing

@testable import Simulator

@Suite struct MessagesQuestionTests {
    private func question(_ query: String) -> MessagesQuestion {
        MessagesQuestion(query: Array(query.utf8)[...])
    }

    @Test(arguments: [
        ("", Duration.zero), ("wait=2", .seconds(2)), ("wait=0.25", .milliseconds(250)),
        ("wait=60", .seconds(60)),
        ("wait=61", .seconds(60)), ("wait=1e300", .seconds(60)), ("wait=inf", .seconds(60)),
        ("wait=nan", .zero),
        ("wait=-1", .zero), ("wait=x", .zero), ("wait", .zero),
    ])
    func `the wait in a query is at most 60 seconds, and invalid text is no wait`(
        query: String, wait: Duration
    ) {
        #expect(question(query).wait == wait)
    }

    @Test func `plus signs in a customer's id are preserved, escaped or not`() {
        #expect(question("customer=urn:mbid:A+/=&after=3").customer == CustomerID("urn:mbid:A+/="))
        #expect(question("customer=urn%3Ambid%3AA%2B%2F%3d").customer == CustomerID("urn:mbid:A+/="))
        #expect(question("customer=%zz%4&after=x").customer == CustomerID("%zz%4"))
        #expect(question("customer=&after=x").customer == nil)
        #expect(question("after=7&after").after == 0)
    }

    @Test func `a query that is written and parsed again is unchanged`() {
        let asked = MessagesQuestion(
            customer: CustomerID("tel:+49 ü&=%"), after: 12, wait: .milliseconds(1500))
        let read = question(asked.query)
        #expect((read.customer, read.after, read.wait) == (asked.customer, 12, .milliseconds(1500)))
    }

    @Test(arguments: [Int.min, -1, 0])
    func `a query accepts any message number`(after: Int) async throws {
        let test = try await GatewayConversation()
        try await test.post("one")
        #expect(try await test.numbers("after=\(after)") == [1])
        #expect(try await test.numbers("after=\(Int.max)").isEmpty)
        await test.gateway.stop()
    }

    @Test(arguments: [
        (["host": "127.0.0.1:80"], 200), (["host": "localhost"], 200), (["host": "[::1]:80"], 200),
        (["host": "attacker.example"], 403), (["host": "127.0.0.1.attacker.example"], 403),
        (["host": "10.0.0.1"], 403), (["host": "localhost.attacker.example"], 403),
        (["host": "localhost:80", "origin": "http://localhost:80"], 200),
        (["host": "localhost:80", "origin": "https://attacker.example"], 403),
        (["host": "localhost:80", "origin": "http://localhost:81"], 403),
        (["host": "localhost:80", "origin": "null"], 403),
    ])
    func `a request that a foreign web page could send is refused`(
        fields: [String: String], status: Int
    ) async throws {
        let test = try await GatewayConversation()
        #expect(try await test.ask("GET", "/_simulator/messages", fields, bearer: "").status == status)
        let rule = try await test.ask(
            "POST", "/_simulator/misbehaviour", fields, body: Array("message=503".utf8), bearer: "")
        #expect(rule.status == status)
        await test.gateway.stop()
    }

    @Test func `messages are found by customer and number, and returned completely`() async throws {
        let test = try await GatewayConversation()
        try await test.post("one", to: "c+1")
        try await test.post("two", to: "d")
        try await test.post("two", to: "d")
        #expect(try await test.numbers("") == [1, 2])
        #expect(try await test.numbers("after=1&wait=0") == [2])
        #expect(try await test.numbers("customer=c+1") == [1])
        #expect(try await test.numbers("customer=c%2B1&after=1") == [])
        let answer = try await test.ask("GET", "/_simulator/messages?after=1", bearer: "")
        #expect(answer.header("content-type") == "application/json")
        let message = try #require(JSONDocument(answer.body).root["messages"]?[0])
        let names = [
            "number", "at", "id", "customer", "business", "message", "autoReply", "repeats",
        ]
        #expect(message.members.map(\.key) == names)
        #expect(message["message"]?["body"]?.string == "x")
        #expect(message["repeats"]?.int == 1)
        #expect(DeliveredMessage(message)?.at == test.gateway.messages()[1].at)
        await test.gateway.stop()
    }

    @Test func `a query waits for the first matching message`() async throws {
        let test = try await GatewayConversation()
        async let waiting = test.numbers("customer=c&after=0&wait=30")
        try await test.post("one", to: "d")
        try await test.post("two", to: "c")
        #expect(try await waiting == [2])
        await test.gateway.stop()
    }

    @Test func `stopping the gateway ends all waits for messages`() async throws {
        let test = try await GatewayConversation()
        try await test.post("one")
        async let found = test.gateway.waitForMessages(count: 2, within: .seconds(600))
        await test.gateway.stop()
        #expect(await found.map(\.number) == [1])
    }

    @Test func `cancelling the task ends its wait for messages`() async throws {
        let test = try await GatewayConversation()
        let waiting = Task { await test.gateway.waitForMessages(within: .seconds(600)) }
        waiting.cancel()
        #expect(await waiting.value.isEmpty)
        await test.gateway.stop()
    }

    @Test func `a wait without a new message ends with an empty result`() async throws {
        let test = try await GatewayConversation()
        #expect(await test.gateway.waitForMessages(within: .milliseconds(20)).isEmpty)
        #expect(try await test.numbers("wait=0.02") == [])
        await test.gateway.stop()
    }
}
