import BalloonHTTP
import BalloonJSON
import BalloonPOSIX
import BalloonTransport
import BalloonWire
import BusinessMessages
import TestSupport
import Testing

@testable import Simulator

@Suite struct FakeGatewayTests {
    @Test func `a message is recorded once, however often its sender repeats it`() async throws {
        let test = try await GatewayConversation()
        for _ in 1...3 { #expect(try await test.post("one").status == 200) }
        #expect(try await test.post("two").body.isEmpty)
        let messages = test.gateway.messages()
        #expect(messages.map(\.id) == [MessageID("one"), MessageID("two")])
        #expect(messages.map(\.number) == [1, 2])
        #expect(messages.map(\.repeats) == [2, 0])
        #expect(test.gateway.requestCount(.message) == 4)
        await test.gateway.stop()
    }

    @Test(arguments: [
        ("", 401), ("Basic abc", 401), ("Bearer", 401), ("Bearer a.b.c", 403),
        ("Bearer eyJhbGciOiJub25lIn0.e30.", 403),
    ])
    func `a request without a valid bearer is refused as by Apple`(bearer: String, status: Int)
        async throws
    {
        let test = try await GatewayConversation()
        let calls = [("POST", "/v1/message"), ("GET", "/v1/preDownload"), ("POST", "/v1/decodePayload")]
        for (method, path) in calls {
            #expect(try await test.ask(method, path, bearer: bearer).status == status)
        }
        await test.gateway.stop()
    }

    @Test func `a token with another secret, MSP or time is refused`() async throws {
        let test = try await GatewayConversation()
        let now = SystemClock.secondsSince1970()
        let msp = GatewayConversation.mspID
        let bad = [
            test.bearer(secret: .random(byteCount: 32)), test.bearer("{}"), test.bearer("no json"),
            test.bearer(#"{"iss":"other","iat":\#(now)}"#), test.bearer(#"{"aud":"\#(msp)","iat":\#(now)}"#),
            test.bearer(#"{"iss":"\#(msp)"}"#), test.bearer(#"{"iss":"\#(msp)","iat":\#(now - 3700)}"#),
            test.bearer(#"{"iss":"\#(msp)","iat":\#(now + 3700)}"#),
            test.bearer(#"{"iss":"\#(msp)","iat":\#(Int.min)}"#),
            test.bearer(#"{"iss":"\#(msp)","iat":\#(Int.max)}"#),
        ]
        for bearer in bad { #expect(try await test.post(bearer: bearer).status == 403) }
        #expect(
            try await test.post(bearer: test.bearer(#"{"iss":"\#(msp)","iat":\#(now - 3500)}"#)).status == 200
        )
        #expect(test.gateway.messages().count == 1)
        await test.gateway.stop()
    }

    @Test(arguments: ["id", "source-id", "destination-id"])
    func `a header that is missing or differs from the body is refused`(name: String) async throws {
        let test = try await GatewayConversation()
        #expect(try await test.post(replacing: [name: ""]).status == 400)
        let answer = try await test.post(replacing: [name: "other"])
        #expect(answer.status == 400)
        #expect(answer.body == Array("400 Bad Request : header and body differ\n".utf8))
        #expect(test.gateway.messages().isEmpty)
        await test.gateway.stop()
    }

    @Test(arguments: ["", "{", "[]", "{}", #"{"id":"one","sourceId":"b","destinationId":"c"}"#])
    func `a body that is not a message is refused`(body: String) async throws {
        let test = try await GatewayConversation()
        #expect(try await test.post("one", to: "c", body: body).status == 400)
        await test.gateway.stop()
    }

    private static let bid = Interaction.businessExtension

    @Test(arguments: [
        (#""type":"close""#, "messageType at /type"), (#""type":"smoke""#, "messageType at /type"),
        (#""type":"text","body":"x","v":2"#, "protocolVersion at /v"),
        (#""type":"interactive""#, "interactiveContent at /"),
        (#""type":"interactive","interactiveDataRef":{}"#, "required at /interactiveDataRef/url"),
        (
            #""type":"interactive","interactiveData":{"bid":"\#(bid)","data":{"version":"1.0","requestIdentifier":"r","quick-reply":{"summaryText":"s","items":[{"identifier":"a","title":"A"}]}}}"#,
            "quickReplyCount at /interactiveData/data/quick-reply/items"
        ),
        (
            #""type":"interactive","interactiveData":{"bid":"com.apple.messages.MSMessageExtensionBalloonPlugin:T:e","appId":1,"URL":"?a","receivedMessage":{"title":"t"},"data":{}}"#,
            "Third party interactive data disallows use of 'data'"
        ),
        (
            #""type":"interactive","interactiveData":{"bid":"\#(bid)","receivedMessage":{"title":"t"},"data":{"version":"1.0","requestIdentifier":"r","images":[{"identifier":"1","data":"%"}],"listPicker":{"sections":[{"title":"s","items":[{"identifier":"a","title":"A"}]}]}}}"#,
            "base64 at /interactiveData/data/images/0/data"
        ),
        (#""type":"text","body":"""#, "empty at /body"),
    ])
    func `a message that Apple refuses gets 400 and a plain text`(members: String, detail: String)
        async throws
    {
        let test = try await GatewayConversation()
        for path in ["/v1/message", "/v1/authenticate"] {
            let body = #"{"id":"one","sourceId":"b","destinationId":"c",\#(members)}"#
            let fields = ["id": "one", "source-id": "b", "destination-id": "c"]
            let answer = try await test.ask("POST", path, fields, body: Array(body.utf8))
            #expect(answer.status == 400)
            #expect(String(decoding: answer.body, as: UTF8.self) == "400 Bad Request : \(detail)\n")
        }
        #expect(test.gateway.messages().isEmpty)
        await test.gateway.stop()
    }

    @Test(arguments: [
        ("/v1/authenticate", #""type":"text","body":"x""#, "not an authentication request"),
        (
            "/v1/authenticate", #""type":"richLink","richLinkData":{"url":"https://a","title":"t"}"#,
            "not an authentication request"
        ),
        (
            "/v1/message", #""type":"richLink","preview":{"url":"https://a"}"#,
            "richLinkData or richLinkDataRef is missing"
        ),
    ])
    func `a message that belongs to another endpoint, or has a preview, is refused`(
        path: String, members: String, detail: String
    ) async throws {
        let test = try await GatewayConversation()
        let body = #"{"id":"one","sourceId":"b","destinationId":"c",\#(members)}"#
        let fields = ["id": "one", "source-id": "b", "destination-id": "c"]
        let answer = try await test.ask("POST", path, fields, body: Array(body.utf8))
        #expect(answer.status == 400)
        #expect(String(decoding: answer.body, as: UTF8.self) == "400 Bad Request : \(detail)\n")
        #expect(test.gateway.messages().isEmpty)
        await test.gateway.stop()
    }

    @Test func `a foreign source gets 404, at decodePayload 403, and is served once it is named`()
        async throws
    {
        let test = try await GatewayConversation(businesses: [BusinessID("other")])
        let data = try JSONDocument(Array(#"{"bid":"x"}"#.utf8)).root
        let payload = SimulatedPayload(business: BusinessID("b"), interactiveData: data).encode()
        let fields = ["source-id": "b", "bid": "x"]
        for _ in 0..<2 {
            #expect(try await test.ask("POST", "/v1/decodePayload", fields, body: payload).status == 403)
            #expect(try await test.post("one").status == 404)
            test.gateway.serve([BusinessID("another")])
        }
        test.gateway.serve([BusinessID("b")])
        #expect(try await test.ask("POST", "/v1/decodePayload", fields, body: payload).status == 200)
        #expect(try await test.post("one").status == 200)
        await test.gateway.stop()
    }

    @Test func `a source that is no business of this MSP gets 404`() async throws {
        let test = try await GatewayConversation(businesses: [BusinessID("other")])
        let answer = try await test.post("one")
        #expect(answer.status == 404)
        #expect(answer.body == Array("404 Not Found : unknown source-id\n".utf8))
        #expect(test.gateway.messages().isEmpty)
        await test.gateway.stop()
    }

    @Test(arguments: [(100, "true", true), (100, "", false), (10 * 1024, "", true)])
    func `a message that is large or asks for a reference is answered with one like Apple's`(
        bytes: Int, include: String, hasReference: Bool
    ) async throws {
        let test = try await GatewayConversation()
        let body =
            #"{"id":"one","type":"interactive","sourceId":"b","destinationId":"c","interactiveData":{"bid":"\#(Self.bid)","receivedMessage":{"title":"Basket"},"data":{"version":"1.0","requestIdentifier":"\#(String(repeating: "r", count: bytes))","listPicker":{"sections":[{"title":"s","items":[{"identifier":"a","title":"A"}]}]}}}}"#
        let answer = try await test.post(
            "one", to: "c", replacing: ["include-data-ref": include], body: body)
        #expect(answer.status == 200)
        #expect(answer.body.isEmpty == !hasReference)
        if hasReference {
            let reference = try JSONDocument(answer.body).root["dataRef"]
            #expect(
                reference?.members.map(\.key) == [
                    "bid", "owner", "url", "size", "signature", "signature-base64", "title", "dataRefSig",
                ])
            #expect(reference?["title"]?.string == "Basket")
        }
        await test.gateway.stop()
    }

    @Test func `the preview of a link is a reference with its key`() async throws {
        let test = try await GatewayConversation()
        let link =
            #"{"type":"link","link":{"url":"https://example.com/clip","storeRegion":"us"},"version":1.0}"#
        let answer = try await test.ask(
            "POST", "/v1/constructPayload", ["id": "one", "source-id": "b"], body: Array(link.utf8))
        let root = try JSONDocument(answer.body).root
        #expect(root.members.map(\.key) == ["version", "richLinkDataRef"])
        #expect(
            root["richLinkDataRef"]?.members.map(\.key) == [
                "title", "signature-base64", "size", "url", "owner", "key",
            ])
        await test.gateway.stop()
    }

    @Test func `misbehaviour rules apply in order, as often as requested, and then end`() async throws {
        let test = try await GatewayConversation()
        test.gateway.misbehave(at: .message, .answer(.serviceUnavailable, retryAfterSeconds: 7), times: 2)
        test.gateway.misbehave(at: .message, .delay(.milliseconds(1)))
        test.gateway.misbehave(at: .blob, .body([1]))
        let first = try await test.post("one")
        #expect((first.status, first.header("retry-after")) == (503, "7"))
        #expect(try await test.post("one").status == 503)
        #expect(test.gateway.messages().isEmpty)
        #expect(try await test.post("one").status == 200)
        #expect(try await test.post("one").status == 200)
        #expect(test.gateway.messages().map(\.repeats) == [1])
        await test.gateway.stop()
    }

    @Test func `a payload passes all steps that Apple documents`() async throws {
        let test = try await GatewayConversation()
        let data = try JSONDocument(Array(#"{"data":{"receivedMessage":{"title":"Order"}}}"#.utf8)).root
        let reference = try test.gateway.register(interactiveData: data, for: BusinessID("b"))
        #expect(reference.title == "Order")
        #expect(reference.key.hasPrefix("00") && reference.key.utf8.count == 66)
        #expect(try Base64.decode(reference.signatureBase64) == Hex.decode(reference.signature))
        // The second set has the older header names.
        for names in [("MMCS-Url", "MMCS-Signature", "MMCS-Owner"), ("url", "signature", "owner")] {
            let answer = try await test.ask(
                "GET", "/v1/preDownload",
                [
                    names.0: reference.url, names.1: reference.signatureBase64, names.2: reference.owner,
                    "source-id": "b",
                ])
            let url = try #require(JSONDocument(answer.body).root["download-url"]?.string)
            var file = try await test.ask("GET", String(url.dropFirst(test.origin.count)), bearer: "").body
            #expect(file.count == reference.sizeBytes)
            #expect(Hex.encode(mmcsChecksum(of: file)) == reference.signature)
            let cipher = try AES256CTR(key: AttachmentKey(field: reference.key).secret)
            cipher.apply(to: &file)
            let fields = ["source-id": "b", "bid": Interaction.businessExtension]
            let decoded = try await test.ask("POST", "/v1/decodePayload", fields, body: file)
            #expect(
                String(decoding: decoded.body, as: UTF8.self)
                    == #"{"interactiveData":{"data":{"receivedMessage":{"title":"Order"}}}}"#)
        }
        await test.gateway.stop()
    }

    @Test func `decodePayload refuses another business and an incomplete payload`() async throws {
        let test = try await GatewayConversation()
        let data = try JSONDocument(Array(#"{"bid":"x"}"#.utf8)).root
        let payload = SimulatedPayload(business: BusinessID("b"), interactiveData: data).encode()
        let cases = [
            (["source-id": "b", "bid": "x"], payload, 200), (["source-id": "c", "bid": "x"], payload, 403),
            (["bid": "x"], payload, 403), (["source-id": "b"], payload, 400),
            (["source-id": "b", "bid": "y"], payload, 400),
            (["source-id": "b", "bid": "x"], payload.dropLast(), 400),
            (["source-id": "b", "bid": "x"], [], 400),
            (["source-id": "b", "bid": "x"], Array("{}".utf8), 400),
        ]
        for (fields, body, status) in cases {
            #expect(try await test.ask("POST", "/v1/decodePayload", fields, body: body).status == status)
        }
        #expect(try await test.ask("GET", "/blob/none").status == 404)
        #expect(try await test.ask("GET", "/v1/preDownload", ["source-id": "b"]).status == 400)
        await test.gateway.stop()
    }

    @Test func `recorded messages and the address survive a stop`() async throws {
        let test = try await GatewayConversation()
        try await test.post("one")
        let origin = test.gateway.origin
        await test.gateway.stop()
        await #expect(throws: TransportError.connectionFailed) { try await test.post("two") }
        _ = try await test.gateway.start()
        #expect(test.gateway.origin == origin)
        #expect(test.gateway.baseURL == test.origin + "/v1")
        try await test.post("two")
        #expect(test.gateway.messages().map(\.number) == [1, 2])
        await test.gateway.stop()
    }

    @Test func `the gateway is reachable from this machine only`() async throws {
        let gateway = FakeGateway(
            mspID: "m", secret: .random(byteCount: 8), logger: LogCollector().logger)
        #expect(try await gateway.start().isLoopback)
        await gateway.stop()
    }
}
