import BalloonHTTP
import BalloonJSON
import BalloonTransport
import BusinessMessages
import Simulator
import TestSupport
import Testing

@testable import GatewayClient

@Suite struct ReferenceReuseTests {
    private static let listPicker =
        #""listPicker":{"sections":[{"title":"S","items":[{"identifier":"a","title":"A"}]}]}"#

    /// An interactive message with an image of `bytes` Base64 characters; `data` is the JSON member of its
    /// kind.
    private static func message(_ id: String, to customer: CustomerID, bytes: Int, data: String) -> [UInt8] {
        let image = String(repeating: "A", count: bytes)
        let text = """
            {"v":1,"type":"interactive","id":"\(id)","sourceId":"\(GatewayUnderTest.business.rawValue)",\
            "destinationId":"\(customer.rawValue)","interactiveData":{"bid":"\(Interaction.businessExtension)",\
            "receivedMessage":{"title":"Choose"},"data":{"version":"1.0","requestIdentifier":"r",\
            "images":[{"identifier":"1","data":"\(image)"}],\(data)}}}
            """
        return Array(text.utf8)
    }

    /// Which of `interactiveData` and `interactiveDataRef` the gateway's latest message has.
    private func form(_ test: GatewayUnderTest) -> [String] {
        let message = test.gateway.messages().last?.message.root
        return ["interactiveData", "interactiveDataRef"].filter { message?[$0] != nil }
    }

    private func send(
        _ test: GatewayUnderTest, _ id: String, bytes: Int, data: String = Self.listPicker
    ) async throws {
        var options = SendOptions()
        options.isNotification = data.hasPrefix(#""notification""#)
        let customer = options.isNotification ? CustomerID("tel:+1") : GatewayUnderTest.customer
        _ = try await test.client.send(
            Self.message(id, to: customer, bytes: bytes, data: data), id: MessageID(id),
            from: GatewayUnderTest.business, to: customer, options: options)
    }

    @Test func `large content is sent once, and then by its reference`() async throws {
        let test = try await GatewayUnderTest()
        try await send(test, "1", bytes: 11_000)
        #expect(form(test) == ["interactiveData"])
        for id in ["2", "3"] {
            try await send(test, id, bytes: 11_000)
            #expect(form(test) == ["interactiveDataRef"])
            #expect(test.gateway.messages().last?.message.root["id"]?.string == id)
        }
        // Different content is sent in full, because it has no reference yet.
        try await send(test, "4", bytes: 11_004)
        #expect(form(test) == ["interactiveData"])
        await test.gateway.stop()
    }

    @Test func `smaller content is sent by reference from the third time on, and tiny content never`()
        async throws
    {
        let test = try await GatewayUnderTest()
        for (id, expected) in [
            ("1", "interactiveData"), ("2", "interactiveData"), ("3", "interactiveDataRef"),
        ] {
            try await send(test, id, bytes: 3000)
            #expect(form(test) == [expected])
        }
        for id in ["4", "5", "6"] {
            try await send(test, id, bytes: 100)
            #expect(form(test) == ["interactiveData"])
        }
        await test.gateway.stop()
    }

    @Test(arguments: [
        ("payment", "applePay"), ("authenticate", "authentication"), ("notification", "invitation"),
    ])
    func `content for one customer is never sent by reference`(member: String, fixture: String) async throws {
        let test = try await GatewayUnderTest()
        let sample = try JSONDocument(Fixture.bytes("outbound/\(fixture).json")).root
        let value = try #require(sample["interactiveData"]?["data"]?[member])
        let data = #""\#(member)":"# + String(decoding: value.text, as: UTF8.self)
        for id in ["1", "2", "3"] {
            try await send(test, id, bytes: 11_000, data: data)
            #expect(form(test) == ["interactiveData"])
        }
        await test.gateway.stop()
    }

    @Test func `a reference that Apple refuses is replaced, and the message still arrives`()
        async throws
    {
        let test = try await GatewayUnderTest()
        try await send(test, "1", bytes: 11_000)
        test.gateway.misbehave(at: .message, .answer(.notFound))
        try await send(test, "2", bytes: 11_000)
        #expect(form(test) == ["interactiveData"])
        #expect(test.gateway.messages().map(\.id) == [MessageID("1"), MessageID("2")])
        try await send(test, "3", bytes: 11_000)
        #expect(form(test) == ["interactiveDataRef"])
        await test.gateway.stop()
    }

    @Test(arguments: [HTTPStatus.unauthorized, .forbidden])
    func `a message that was sent by reference is sent in full after 401 or 403`(_ status: HTTPStatus)
        async throws
    {
        let test = try await GatewayUnderTest()
        try await send(test, "1", bytes: 11_000)
        test.gateway.misbehave(at: .message, .answer(status))
        try await send(test, "2", bytes: 11_000)
        #expect(form(test) == ["interactiveData"])
        #expect(test.gateway.requestCount(.message) == 3)
        await test.gateway.stop()
    }

    @Test func `a refused credential does not remove the reference`() async throws {
        let test = try await GatewayUnderTest()
        try await send(test, "1", bytes: 11_000)
        test.gateway.misbehave(at: .message, .answer(.forbidden), times: 2)
        await #expect(throws: GatewayError.self) { try await send(test, "2", bytes: 11_000) }
        try await send(test, "2", bytes: 11_000)
        #expect(form(test) == ["interactiveDataRef"])
        await test.gateway.stop()
    }

    @Test func `an unavailable gateway does not remove the reference`() async throws {
        let test = try await GatewayUnderTest()
        try await send(test, "1", bytes: 11_000)
        test.gateway.misbehave(at: .message, .answer(.serviceUnavailable))
        await #expect(throws: GatewayError.self) { try await send(test, "2", bytes: 11_000) }
        try await send(test, "2", bytes: 11_000)
        #expect(form(test) == ["interactiveDataRef"])
        await test.gateway.stop()
    }

    @Test func `content of more than a megabyte is uploaded first`() async throws {
        let test = try await GatewayUnderTest()
        try await send(test, "1", bytes: 1_100_000)
        #expect(form(test) == ["interactiveDataRef"])
        #expect(test.gateway.requestCount(.upload) == 1)
        try await send(test, "2", bytes: 1_100_000)
        #expect(test.gateway.requestCount(.upload) == 1)
        // The reference leads to the complete content.
        let sent = try #require(test.gateway.messages().last?.message.root["interactiveDataRef"])
        #expect(sent["title"]?.string == "Choose")
        let reference = try #require(PayloadReference(sent))
        let decoded = try JSONDocument(Array(try await test.resolve(reference).utf8))
        let image = decoded.root["interactiveData"]?["data"]?["images"].flatMap {
            Array($0.elements).first?["data"]
        }
        #expect(image?.string?.utf8.count == 1_100_000)
        await test.gateway.stop()
    }

    @Test func `content is sent inline when its upload fails`() async throws {
        let test = try await GatewayUnderTest()
        test.gateway.misbehave(at: .encodePayload, .answer(.badRequest))
        try await send(test, "1", bytes: 1_100_000)
        #expect(form(test) == ["interactiveData"])
        await test.gateway.stop()
    }

    @Test func `a file that Apple stores is not uploaded again`() async throws {
        let test = try await GatewayUnderTest()
        func upload(_ name: String) async throws -> UploadedFile {
            try await test.client.upload(
                ContentSource(bytes: Array(name.utf8)), named: name, for: GatewayUnderTest.business)
        }
        let first = try await upload("a")
        #expect(try await upload("a") == first)
        #expect(try await upload("b") != first)
        #expect(test.gateway.requestCount(.upload) == 2)
        await test.gateway.stop()
    }
}
