import BalloonJSON
import BalloonTransport
import BalloonWire
import BusinessMessages
import Testing

@testable import Simulator

@Suite struct PayloadMoveTests {
    private func customer(of test: GatewayConversation) -> SimulatedCustomer {
        SimulatedCustomer(
            id: CustomerID("c"), business: BusinessID("b"), server: "http://127.0.0.1:9", mspID: "msp",
            secret: test.secret, gateway: test.origin, transport: test.transport)
    }

    /// The data behind the reference of `message`, as `decodePayload` returns it.
    private func decoded(_ message: JSONDocument, by test: GatewayConversation) async throws -> JSONDocument {
        let reference = try #require(PayloadReference(message: message))
        let fields = [
            "source-id": "b", "MMCS-Url": reference.url, "MMCS-Owner": reference.owner,
            "MMCS-Signature": try #require(reference.signatureBase64),
        ]
        let address = try await test.ask("GET", "/v1/preDownload", fields)
        let url = try #require(JSONDocument(address.body).root["download-url"]?.string)
        var file = try await test.ask("GET", String(url.dropFirst(test.origin.count))).body
        #expect(file.count == reference.sizeBytes)
        let cipher = try AES256CTR(key: AttachmentKey(field: reference.key).secret)
        cipher.apply(to: &file)
        let answer = try await test.ask(
            "POST", "/v1/decodePayload", ["source-id": "b", "bid": reference.bid], body: file)
        return try JSONDocument(answer.body)
    }

    @Test(arguments: [
        Kind.quickReply, .listPicker, .timePicker, .authentication, .applePay, .app, .unrecognized,
    ])
    func `all interactive data is moved behind the reference, and resolves to the original`(kind: Kind)
        async throws
    {
        let test = try await GatewayConversation()
        let customer = customer(of: test)
        let original = try JSONDocument(customer.message(kind))
        let moved = try JSONDocument(await customer.referring(original.bytes, always: true))
        #expect(moved.root["interactiveData"] == nil)
        let decoded = try await decoded(moved, by: test)
        #expect(decoded.root["interactiveData"]?.text == original.root["interactiveData"]?.text)
        await test.gateway.stop()
    }

    @Test func `a form keeps its selections inline, and only those`() async throws {
        let test = try await GatewayConversation()
        let customer = customer(of: test)
        let original = try JSONDocument(customer.message(.form))
        let moved = try JSONDocument(await customer.referring(original.bytes, always: true))
        let inline = try #require(moved.root["interactiveData"])
        #expect(inline.members.map(\.key) == ["bid", "sessionIdentifier", "data"])
        #expect(inline["data"]?.members.map(\.key) == ["version", "requestIdentifier", "dynamic"])
        let decoded = try await decoded(moved, by: test)
        let stored = try #require(decoded.root["interactiveData"]?["data"])
        #expect(stored["dynamic"] == nil)
        #expect(stored["replyMessage"]?["title"]?.string == "Thank you")

        let bytes = try #require(resolving(message: moved, with: decoded))
        guard case .form(let form) = InboundEvent.decode(message: try JSONDocument(bytes)).content else {
            Issue.record("no form")
            return
        }
        #expect(form.selections.count == 3)
        #expect(form.interaction.replyMessage?.title == "Thank you")
        await test.gateway.stop()
    }

    @Test(arguments: [(10 * 1024, false), (10 * 1024 + 1, true)])
    func `interactive data of more than 10 KB is moved behind a reference by default`(
        bytes: Int, isMoved: Bool
    )
        async throws
    {
        let test = try await GatewayConversation()
        let customer = customer(of: test)
        let empty = #"{"x":""}"#.utf8.count
        let data = #"{"x":"\#(String(repeating: "x", count: bytes - empty))"}"#
        let message = Array(#"{"id":"i","type":"interactive","interactiveData":\#(data),"v":1}"#.utf8)
        let moved = try JSONDocument(await customer.referring(message)).root
        #expect((moved["interactiveDataRef"] != nil) == isMoved)
        #expect((moved["interactiveData"] == nil) == isMoved)
        #expect(moved["v"]?.int == 1)
        await test.gateway.stop()
    }
}
