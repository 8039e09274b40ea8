import BalloonJSON
import BalloonTransport
import BalloonWire
import BusinessMessages
import Simulator
import TestSupport
import Testing

@testable import GatewayClient

@Suite struct SendOptionsTests {
    private func client(_ transport: StubTransport, logs: LogCollector = LogCollector()) throws
        -> GatewayClient
    {
        try GatewayClient(
            configuration: GatewayConfiguration(mspID: "msp", secret: .random(byteCount: 32)),
            transport: transport, clock: RecordingClock(), logger: logs.logger)
    }

    private func names(_ request: TransportRequest) -> Set<String> { Set(request.headers.map(\.name)) }

    @Test func `each send option adds its own header`() async throws {
        let transport = StubTransport([.answer(200), .answer(200)])
        let client = try client(transport)
        var options = SendOptions()
        (options.isAutomatic, options.isNotification, options.wantsReference) = (false, true, true)
        for options in [SendOptions(), options] {
            _ = try await client.send(
                [], id: MessageID("1"), from: BusinessID("b"), to: CustomerID("c"), options: options)
        }
        let optional: Set = ["auto-reply", "message-type", "include-data-ref"]
        #expect(names(transport.requests[0]).intersection(optional) == ["auto-reply"])
        #expect(names(transport.requests[1]).intersection(optional) == ["message-type", "include-data-ref"])
    }

    @Test func `authentication uses its own endpoint`() async throws {
        let test = try await GatewayUnderTest()
        let id = MessageID.random()
        let signIn = AuthenticationRequest(
            scope: ["r_liteprofile"], state: "state", .two(redirectURI: "https://example.com/callback"),
            presentation: Presentation(
                OutboundBubble("Sign in"), reply: OutboundBubble("Signed in"),
                requestIdentifier: "0f8ad656-12a0-4fc9-a28d-22d103a0ae5d"))
        let body = OutboundMessage.authentication(signIn).encode(
            id: id, from: GatewayUnderTest.business, to: GatewayUnderTest.customer)
        let acceptance = try await test.client.authenticate(
            body, id: id, from: GatewayUnderTest.business, to: GatewayUnderTest.customer)
        #expect(acceptance.status == 200)
        #expect(test.gateway.requestCount(.authenticate) == 1)
        #expect(test.gateway.requestCount(.message) == 0)
        #expect(test.gateway.messages().map(\.id) == [id])
        await test.gateway.stop()
    }

    @Test func `an interactive message is answered with a reference that can be sent`() async throws {
        let test = try await GatewayUnderTest()
        let id = MessageID.random()
        let request = try QuickReplyRequest(
            summary: "Tea?", items: [.init("y", title: "Yes"), .init("n", title: "No")])
        let body = OutboundMessage.quickReply(request).encode(
            id: id, from: GatewayUnderTest.business, to: GatewayUnderTest.customer)
        var options = SendOptions()
        options.wantsReference = true
        let acceptance = try await test.client.send(
            body, id: id, from: GatewayUnderTest.business, to: GatewayUnderTest.customer, options: options)
        let payload = try #require(acceptance.reference)
        let again = OutboundMessage.uploaded(payload, kind: .quickReply).encode(
            id: .random(), from: GatewayUnderTest.business, to: GatewayUnderTest.customer)
        let repeated = try await test.client.send(
            again, id: MessageID(try #require(JSONDocument(again).root["id"]?.string)),
            from: GatewayUnderTest.business, to: GatewayUnderTest.customer)
        #expect(repeated.status == 200)
        #expect(try JSONDocument(payload.json).root["key"] == nil)
        await test.gateway.stop()
    }

    @Test func `a notification to a customer's id instead of a telephone number is refused`() async throws {
        let test = try await GatewayUnderTest()
        let message = test.text()
        var options = SendOptions()
        options.isNotification = true
        let error = await #expect(throws: GatewayError.self) {
            try await test.client.send(
                message.body, id: message.id, from: GatewayUnderTest.business, to: GatewayUnderTest.customer,
                options: options)
        }
        #expect(error?.refusal == Refusal(.message, 400))
        await test.gateway.stop()
    }

    @Test func `the older header names are used when the current ones are refused`() async throws {
        let transport = StubTransport([
            .answer(400, "no size"),
            .answer(200, #"{"upload-url":"https://a.icloud.com/u","mmcs-url":"u","mmcs-owner":"o"}"#),
            .answer(200, #"{"singleFile":{"fileChecksum":"gQ==","size":1,"receipt":"r"}}"#),
        ])
        let file = try await client(transport).upload(ContentSource(bytes: [1]), for: BusinessID("b"))
        #expect(file.signatureBase64 == "gQ==")
        #expect(names(transport.requests[0]) == ["authorization", "source-id", "MMCS-Size"])
        #expect(names(transport.requests[1]) == ["authorization", "source-id", "size"])
        #expect(names(transport.requests[2]).isEmpty)
        #expect(transport.requests[2].needsPublicAddress)
    }

    @Test func `a clock difference is logged once`() async throws {
        let logs = LogCollector()
        let date = [(name: "Date", value: "Sun, 06 Nov 1994 08:49:37 GMT")]
        let client = try client(
            StubTransport([.answer(200, headers: date), .answer(200, headers: date)]), logs: logs)
        for _ in 0..<2 {
            _ = try await client.send([], id: MessageID("1"), from: BusinessID("b"), to: CustomerID("c"))
        }
        #expect(logs.lines.count { $0.contains("ahead_seconds") } == 1)
    }

    @Test(
        arguments: [
            ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777), ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
            ("Sunday, 06-Nov-94 08:49:37 GMT", nil), ("Sun Nov  6 08:49:37 1994", nil), ("", nil),
            ("Sun, 31 Feb 1994 08:49:37 GMT", nil), ("Sun, 06 Nov 1994 08:49:37 CET", nil),
        ] as [(String, Int?)])
    func `a date is parsed in the IMF-fixdate form only`(date: String, expected: Int?) {
        #expect(secondsSince1970(date) == expected)
    }

    @Test func `a clock difference of one minute is tolerated`() {
        #expect(clockSkew(date: "Thu, 01 Jan 1970 00:01:00 GMT", now: 0) == nil)
        #expect(clockSkew(date: "Thu, 01 Jan 1970 00:01:01 GMT", now: 0) == -61)
    }
}
