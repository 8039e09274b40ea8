import BalloonJSON
import BalloonTransport
import BalloonWire
import BusinessMessages
import Logging
import TestSupport
import Testing

@testable import GatewayClient

/// The requests on the wire, and answers that the fake gateway does not send.
@Suite struct GatewayRequestTests {
    private let business = BusinessID("business")
    private let customer = CustomerID("urn:mbid:AQ+/==")
    private let secret = Secret.random(byteCount: 32)
    private let clock = RecordingClock()

    private func client(_ transport: StubTransport) throws -> GatewayClient {
        try GatewayClient(
            configuration: GatewayConfiguration(mspID: "msp", secret: secret), transport: transport,
            clock: clock,
            logger: LogCollector().logger)
    }

    private func send(_ transport: StubTransport) async throws(GatewayError) -> GatewayAcceptance {
        let client: GatewayClient
        do { client = try self.client(transport) } catch { throw .cancelled }
        return try await client.send(Array("{}".utf8), id: MessageID("id-1"), from: business, to: customer)
    }

    private func reference() throws -> PayloadReference {
        let json = """
            {"url": "https://content.icloud.com/M1", "owner": "M1", "bid": "com.example", "size": 3,
             "signature": "81a619c8", "key": "00\(String(repeating: "0f", count: 32))"}
            """
        return try #require(PayloadReference(JSONDocument(Array(json.utf8)).root))
    }

    private func fields(_ request: TransportRequest) -> [String] {
        request.headers.filter { $0.name != "authorization" }.map { "\($0.name): \($0.value)" }
    }

    private func bearer(_ request: TransportRequest) -> Substring? {
        request.headers.first { $0.name == "authorization" }?.value.dropFirst("Bearer ".count)
    }

    @Test func `a message goes to Apple with the documented headers`() async throws {
        let transport = StubTransport([.answer(200)])
        _ = try await send(transport)
        let request = try #require(transport.requests.first)
        #expect(request.method == "POST")
        #expect(request.url == "https://mspgw.push.apple.com/v1/message")
        #expect(
            fields(request) == [
                "id: id-1", "source-id: business", "destination-id: urn:mbid:AQ+/==",
                "content-type: application/json", "msp-agent: Balloon", "auto-reply: true",
            ])
        #expect(request.body == Array("{}".utf8))
        #expect(!request.allowsPlainHTTP)
    }

    @Test func `the token has the MSP's signature, its id and the current time`() async throws {
        let transport = StubTransport([.answer(200)])
        _ = try await send(transport)
        let token = try #require(bearer(transport.requests[0]))
        let claims = try JSONDocument(TokenVerifier(secret: secret).verify(token.utf8)).root
        #expect(claims.members.map(\.key) == ["iss", "iat"])
        #expect(claims["iss"]?.string == "msp")
        #expect(try #require(claims["iat"]?.int) > 1_700_000_000)
    }

    @Test func `the three requests for a reference have the documented headers`() async throws {
        let transport = StubTransport([
            .answer(200, #"{"download-url":"https://p61-content.icloud.com/x?y=1"}"#), .answer(200, "abc"),
            .answer(200, #"{"interactiveData":{}}"#),
        ])
        _ = try await client(transport).resolve(reference(), for: business, within: .seconds(5))
        let requests = transport.requests
        #expect(requests.map(\.method) == ["GET", "GET", "POST"])
        #expect(
            requests.map(\.url) == [
                "https://mspgw.push.apple.com/v1/preDownload", "https://p61-content.icloud.com/x?y=1",
                "https://mspgw.push.apple.com/v1/decodePayload",
            ])
        #expect(
            fields(requests[0]) == [
                "source-id: business", "MMCS-Url: https://content.icloud.com/M1", "MMCS-Signature: gaYZyA==",
                "MMCS-Owner: M1",
            ])
        #expect(requests[1].headers.isEmpty)
        #expect(
            fields(requests[2]) == [
                "source-id: business", "bid: com.example", "accept: */*", "accept-encoding: gzip",
                "content-type: application/octet-stream",
            ])
        #expect(requests.allSatisfy { $0.timeout <= .seconds(5) })
    }

    @Test func `a payload is posted decrypted, and posted again inflated when Apple refuses it`() async throws
    {
        let plain = Array("binary".utf8)
        let key = AttachmentKey()
        var file = GzipCompressor().compress(plain)
        let compressed = file
        let cipher = try AES256CTR(key: key.secret)
        cipher.apply(to: &file)
        let json = """
            {"url": "u", "owner": "o", "signature": "81", "size": "\(file.count)", "key": "\(key.field)"}
            """
        let reference = try #require(PayloadReference(JSONDocument(Array(json.utf8)).root))
        let transport = StubTransport([
            .answer(200, #"{"download-url":"https://icloud.com/x"}"#),
            .success(TransportResponse(status: 200, body: file)),
            .answer(400), .answer(200, #"{"data":{}}"#),
        ])
        let decoded = try await client(transport).resolve(reference, for: business, within: .seconds(5))
        #expect(transport.requests[2].body == compressed)
        #expect(transport.requests[3].body == plain)
        #expect(decoded == Array(#"{"data":{}}"#.utf8))
    }

    @Test func `a redirect is never followed`() async throws {
        let redirect = [(name: "Location", value: "http://169.254.169.254/")]
        let sending = StubTransport([.answer(302, headers: redirect)])
        let first = await #expect(throws: GatewayError.self) { try await send(sending) }
        #expect(first?.refusal == Refusal(.message, 302))
        let fetching = StubTransport([
            .answer(200, #"{"download-url":"https://icloud.com/x"}"#), .answer(307, headers: redirect),
        ])
        let second = await #expect(throws: GatewayError.self) {
            try await client(fetching).resolve(reference(), for: business, within: .seconds(5))
        }
        #expect(second?.refusal == Refusal(.download, 307))
    }

    /// Fetches a payload; the first request is answered with `first`, every further one successfully.
    private func fetch(
        _ first: Result<TransportResponse, any Error>
    ) async throws -> (outcome: Result<[UInt8], GatewayError>, attempts: Int) {
        let transport = StubTransport([
            first, .answer(200, #"{"download-url":"https://p61-content.icloud.com/x?y=1"}"#),
            .answer(200, "abc"), .answer(200, #"{"interactiveData":{}}"#),
        ])
        let (client, reference) = (try client(transport), try reference())
        let outcome = await Result { () async throws(GatewayError) in
            try await client.resolve(reference, for: business, within: .seconds(60))
        }
        return (outcome, transport.requests.count { $0.url.hasSuffix("preDownload") })
    }

    @Test(arguments: [
        ("1", [Duration.seconds(1)]), ("30", [.seconds(30)]), ("31", []),
        ("Fri, 31 Dec 1999 23:59:59 GMT", nil),
        ("-1", nil), ("99999999999999999999", nil),
    ])
    func `a fetch answered with 429 waits as long as requested, within bounds`(
        retryAfter: String, waits: [Duration]?
    ) async throws {
        let (outcome, attempts) = try await fetch(
            .answer(429, headers: [(name: "retry-after", value: retryAfter)]))
        if let waits { #expect(clock.waits == waits) } else { #expect(clock.waits.count == 1) }
        switch outcome {
        case .success: #expect(attempts == 2)
        case .failure(let error):
            // A longer delay is reported to the caller instead, which retries later.
            #expect(
                error == .unavailable(.preDownload, status: 429, attempts: 1, retryAfter: .seconds(31)))
        }
    }

    @Test(arguments: [
        (TransportError.interrupted(code: 56), 2), (.timedOut, 2), (.hostUnresolved, 2),
        (.certificateRefused, 1), (.requestInvalid, 1), (.cancelled, 1),
    ])
    func `a fetch is retried only after a transient failure`(
        error: TransportError, attempts: Int
    ) async throws {
        #expect(try await fetch(.failure(error)).attempts == attempts)
    }

    @Test(arguments: [TransportError.interrupted(code: 56), .timedOut, .hostUnresolved])
    func `the client never retries a message`(error: TransportError) async throws {
        let transport = StubTransport([.failure(error), .answer(200)])
        _ = await Result { try await send(transport) }
        #expect(transport.requests.count == 1)
        #expect(clock.waits.isEmpty)
    }

    @Test func `an error of an unknown type is retried, and a cancellation is not`() async throws {
        struct Foreign: Error {}
        #expect(try await fetch(.failure(Foreign())).attempts == 2)
        await #expect(throws: GatewayError.cancelled) {
            try await send(StubTransport([.failure(CancellationError())]))
        }
    }

    @Test(arguments: [400, 401, 403, 404, 413, 302])
    func `a refusal quotes nothing of Apple's answer`(status: Int) async throws {
        let transport = StubTransport([.answer(status, "\(status) : Mark77word of \(customer)\nsecond line")])
        let error = try #require(await #expect(throws: GatewayError.self) { try await send(transport) })
        for text in ["\(error)", "\(SendDecision(error))"] {
            #expect(!text.contains("Mark77word") && !text.contains("\(customer)"), "\(text)")
        }
    }
}

extension Result {
    fileprivate init(_ body: () async throws(Failure) -> Success) async {
        do { self = .success(try await body()) } catch { self = .failure(error) }
    }
}
