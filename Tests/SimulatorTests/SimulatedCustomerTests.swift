import BalloonHTTP
import BalloonJSON
import BalloonPOSIX
import BalloonTransport
import BalloonWire
import BusinessMessages
import Testing

@testable import Simulator

@Suite struct SimulatedCustomerTests {
    private let secret = Secret.random(byteCount: 32)

    private func customer(server: String = "http://127.0.0.1:9/", gateway: String? = nil) throws
        -> SimulatedCustomer
    {
        SimulatedCustomer(
            id: CustomerID("urn:mbid:A+/="), business: BusinessID("b"), server: server, mspID: "msp",
            secret: secret,
            gateway: gateway, transport: try CurlTransport())
    }

    @Test(arguments: Kind.allCases)
    func `the server parses a message of each kind`(kind: Kind) throws {
        let document = try JSONDocument(customer().message(kind, id: MessageID("one")))
        let envelope = try InboundEnvelope.read(document: document, headers: EnvelopeHeaders())
        #expect(envelope.id == MessageID("one"))
        #expect(envelope.customer == CustomerID("urn:mbid:A+/="))
        #expect(envelope.business == BusinessID("b"))
        #expect(InboundEvent.decode(message: document).kind == kind)
    }

    @Test func `a simulated text keeps every character of the given text`() throws {
        let text = "„Größe“ \"XL\"\\\n\u{0}, {\"body\": 1} 🚲"
        let document = try JSONDocument(customer().message(.text, text: text))
        #expect(document.root["body"]?.string == text)
    }

    @Test func `the device's capabilities, locale, intent and group are sent`() throws {
        var customer = try customer()
        customer.capabilities = [.listPicker]
        (customer.locale, customer.intent, customer.group) = ("de_DE", "sales", "bikes")
        for message in [
            customer.message(.text), try customer.message(completing: Array(#"{"locale":"x"}"#.utf8)),
        ] {
            let body = try JSONDocument(message).root
            #expect(["locale", "intent", "group"].map { body[$0]?.string } == ["de_DE", "sales", "bikes"])
            let headers = try customer.request(carrying: message).headers
            #expect(headers.first { $0.name == "capability-list" }?.value == "LIST")
        }
    }

    @Test func `a device without the newer authentication sends a token and bubbles`() throws {
        var customer = try customer()
        customer.capabilities = [.authentication]
        let interactiveData = try JSONDocument(customer.message(.authentication)).root["interactiveData"]
        #expect(interactiveData?["data"]?["version"]?.string == "1.0")
        #expect(interactiveData?["data"]?["authenticate"]?["status"]?.string == "authenticated")
        #expect(interactiveData?["data"]?["authenticate"]?["token"]?.string != nil)
        #expect(interactiveData?["replyMessage"]?["title"]?.string == "You signed in")
        customer.capabilities = [.authentication, .authentication2]
        let newer = try JSONDocument(customer.message(.authentication)).root["interactiveData"]
        #expect(newer?["data"]?["version"]?.string == "2.0")
    }

    @Test func `no two messages have the same session`() throws {
        let sessions = try (1...2).map { _ in
            try JSONDocument(customer().message(.form)).root["interactiveData"]?["sessionIdentifier"]?.string
        }
        #expect(sessions[0] != nil)
        #expect(sessions[0] != sessions[1])
    }

    @Test func `a request is signed, compressed and addressed like Apple's`() throws {
        let message = try customer().message(.text, id: MessageID("one"))
        let request = try customer(server: "http://127.0.0.1:9/amb/").request(carrying: message)
        #expect((request.method, request.url) == ("POST", "http://127.0.0.1:9/amb/message"))
        let fields = request.headers.dropFirst().map { "\($0.name): \($0.value)" }
        #expect(
            fields == [
                "id: one", "source-id: urn:mbid:A+/=", "destination-id: b",
                "capability-list: QUICK,LIST,TIME,AUTH,AUTH2,FORM", "content-type: application/json",
                "content-encoding: gzip",
            ])
        let token = try #require(request.headers.first?.value.dropFirst("Bearer ".count))
        let claims = try JSONDocument(TokenVerifier(secret: secret).verify(token.utf8)).root
        #expect(claims["aud"]?.string == "msp")
        #expect(abs(try #require(claims["iat"]?.int) - SystemClock.secondsSince1970()) < 60)
        var inflated: [UInt8] = []
        try GzipDecompressor().decompress(
            request.body, into: &inflated, maximumBytes: 1 << 20, maximumRatio: 1000)
        #expect(inflated == message)
    }

    @Test(arguments: [
        ("{}", ["urn:mbid:A+/=", "b"]), (#"{"sourceId":"","destinationId":null}"#, ["urn:mbid:A+/=", "b"]),
        (#"{"id":"one","sourceId":"me","destinationId":"you"}"#, ["me", "you"]),
    ])
    func `missing members of a message from a file are filled in`(json: String, parties: [String]) throws {
        let body = try JSONDocument(customer().message(completing: Array(json.utf8))).root
        #expect([body["sourceId"]?.string, body["destinationId"]?.string] == parties)
        let id = try #require(body["id"]?.string)
        #expect(id == "one" || id.utf8.count == 36)
    }

    @Test func `a file that is not a message is refused`() throws {
        let customer = try customer()
        #expect(throws: SimulatorError.messageNotAnObject) {
            try customer.message(completing: Array("[]".utf8))
        }
        #expect(throws: SimulatorError.messageMalformed(.unexpectedEnd(offset: 1))) {
            try customer.message(completing: Array("{".utf8))
        }
    }

    @Test func `a message without interactive data stays inline`() async throws {
        let customer = try customer()
        let message = customer.message(.text, text: String(repeating: "x", count: 20_000))
        #expect(try await customer.referring(message) == message)
        #expect(try await customer.referring(message, always: true) == message)
        await #expect(throws: SimulatorError.gatewayMissing) {
            try await customer.referring(customer.message(.form), always: true)
        }
    }

    @Test func `moving a payload fails when the gateway is not the simulator`() async throws {
        let server = try await EchoServer()
        let customer = try customer(gateway: server.origin)
        await #expect(throws: SimulatorError.gatewayRefused(status: 404)) {
            try await customer.referring(customer.message(.form), always: true)
        }
        await server.stop()
    }

    @Test func `a post sends the message and returns the server's answer`() async throws {
        let server = try await EchoServer()
        let customer = try customer(server: server.origin)
        let message = customer.message(.quickReply)
        let answer = try await customer.post(message)
        #expect(answer.status == 202)
        var inflated: [UInt8] = []
        try GzipDecompressor().decompress(
            answer.body, into: &inflated, maximumBytes: 1 << 20, maximumRatio: 1000)
        #expect(inflated == message)
        await server.stop()
    }

    @Test func `the replies after a number are the messages to this customer with higher numbers`()
        async throws
    {
        let test = try await GatewayConversation()
        let customer = try customer(gateway: test.origin)
        try await test.post("one", to: "urn:mbid:A+/=")
        try await test.post("two", to: "another")
        async let next = customer.replies(after: 1, within: .seconds(30))
        try await test.post("three", to: "urn:mbid:A+/=")
        #expect(try await next.map(\.id) == [MessageID("three")])
        let all = try await customer.replies()
        #expect(all.map(\.number) == [1, 3])
        #expect(all[0].message.root["body"]?.string == "x")
        await test.gateway.stop()
    }
}
