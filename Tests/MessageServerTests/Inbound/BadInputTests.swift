import BalloonJSON
import BalloonPOSIX
import BalloonTransport
import BalloonWire
import BusinessMessages
import HandlerKit
import ServerTestSupport
import Simulator
import Synchronization
import TestSupport
import Testing

@testable import MessageServer

/// Refused requests with their statuses; a refusal reveals nothing and affects no other request.
@Suite struct BadInputTests {
    /// A request that Apple would never send: its name, its modification, and the expected status.
    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let status: Int
        let spoil: @Sendable (inout TransportRequest, SimulatedCustomer) throws -> Void
    }

    @Test(
        arguments: [
            (.missing(.type), "it has no type"),
            (.disagreement(.sourceID), "its source-id differs between header and body"),
            (.tooLong(.id, limitBytes: 512), "its id has more than 512 bytes"),
        ] as [(EnvelopeError, String)])
    func `the log describes an envelope's problem in words`(_ error: EnvelopeError, _ words: String) {
        #expect(InboundRefusal.badEnvelope(error).reason == "the envelope is malformed: " + words)
    }

    static let cases: [Case] = [
        Case("no token", 401) { request, _ in request.remove("authorization") },
        Case("another scheme", 401) { request, _ in request.set("authorization", "Basic dXNlcjpwYXNz") },
        Case("a wrong secret", 403) { request, customer in
            let signer = TokenSigner(secret: Secret.random(byteCount: 32))
            let claims = #"{"aud":"\#(ServerUnderTest.mspID)","iat":\#(SystemClock.secondsSince1970())}"#
            request.set("authorization", "Bearer " + signer.sign(Array(claims.utf8)))
        },
        Case("alg none", 403) { request, _ in
            let claims = #"{"aud":"\#(ServerUnderTest.mspID)","iat":\#(SystemClock.secondsSince1970())}"#
            let parts = [#"{"alg":"none"}"#, claims].map { Base64.encode(Array($0.utf8), alphabet: .url) }
            request.set("authorization", "Bearer \(parts[0]).\(parts[1]).")
        },
        Case("a wrong audience", 403) { request, customer in
            request.set("authorization", "Bearer " + customer.token(audience: "another"))
        },
        Case("a stale token", 403) { request, customer in
            let issuedAt = SystemClock.secondsSince1970() - 4000
            request.set("authorization", "Bearer " + customer.token(issuedAt: issuedAt))
        },
        Case("two Authorization fields", 401) { request, _ in
            let field = try #require(request.headers.first { $0.name.lowercased() == "authorization" })
            request.headers.append(field)
        },
        Case("brotli", 415) { request, _ in request.set("content-encoding", "br") },
        Case("gzip in deflate", 415) { request, _ in request.set("content-encoding", "deflate, gzip") },
        Case("gzip in gzip", 400) { request, _ in request.set("content-encoding", "gzip, gzip") },
        Case("x-gzip in gzip", 400) { request, _ in request.set("content-encoding", "gzip,X-GZIP") },
        Case("two Content-Encoding fields", 400) { request, _ in
            request.headers.append(("content-encoding", "gzip"))
        },
        Case("an unknown business", 404) { request, customer in
            request.set("destination-id", "unknown")
            request.set(
                body: #"{"id":"x","v":1,"type":"text","sourceId":"c","destinationId":"unknown","body":"b"}"#)
            request.set("id", "x")
            request.set("source-id", "c")
        },
        Case("broken gzip", 400) { request, _ in request.body = Array(request.body.dropLast(9)) },
        Case("a body that is not gzip", 400) { request, _ in request.body = Array("not gzip".utf8) },
        Case("a gzip bomb", 413) { request, _ in
            request.body = GzipCompressor().compress([UInt8](repeating: 0x20, count: 50 << 20))
        },
        Case("broken JSON", 400) { request, _ in request.set(body: #"{"id":"#) },
        Case("100,000 levels of nesting", 400) { request, _ in
            // Not compressed: otherwise the ratio would be refused before the nesting.
            request.remove("content-encoding")
            request.body = [UInt8](repeating: UInt8(ascii: "["), count: 100_000)
        },
        Case("invalid UTF-8", 400) { request, _ in
            request.body = GzipCompressor().compress(
                Array(#"{"id":""#.utf8) + [0xFF, 0xFE] + Array(#""}"#.utf8))
        },
        Case("no type", 400) { request, _ in request.set(body: #"{"id":"x","v":1}"#) },
        Case("an id that differs from its header", 400) { request, _ in request.set("id", "another") },
        Case("not an object", 400) { request, _ in request.set(body: "[]") },
        Case("an empty body", 400) { request, _ in request.set(body: "") },
        Case("an identifier of 513 bytes", 400) { request, _ in
            request.set("source-id", String(repeating: "x", count: 513))
            request.set(body: #"{"type":"text","body":"b"}"#)
        },
    ]

    @Test(arguments: cases)
    func `bad input gets a clear status and a short answer`(_ bad: Case) async throws {
        let handler = RecordingHandler()
        let server = try await ServerUnderTest(handler)
        let customer = server.customer()
        var request = try customer.request(carrying: customer.message(.text, text: "a customer's own words"))
        try bad.spoil(&request, customer)
        let answer = try await server.transport.send(request)
        #expect(answer.status == bad.status)
        let body = String(decoding: answer.body, as: UTF8.self)
        #expect(body.utf8.count < 100)
        let reference = try #require(body.split(separator: "reference ").last).prefix(16)
        #expect(server.log.lines.contains { $0.contains(reference) })
        #expect(server.log.lines.allSatisfy { !$0.contains("own words") })
        if bad.status == 401 { #expect(answer.header("www-authenticate") == "Bearer") }

        // The server continues normally.
        #expect(try await customer.post(customer.message(.text)).status == 200)
        _ = await server.gateway.waitForMessages(customer: customer.id)
        #expect(handler.seen.count == 1)
        await server.stop()
    }

    @Test func `a token is verified and reported once for each request`() async throws {
        let server = try await ServerUnderTest()
        let customer = server.customer()
        #expect(try await customer.post(customer.message(.text)).status == 200)
        var request = try customer.request(carrying: customer.message(.text))
        request.set("authorization", "Bearer " + customer.token(audience: "another"))
        #expect(try await server.transport.send(request).status == 403)
        let results = server.stages.events.filter { $0.stage == .authenticate }.map(\.result)
        #expect(results == [.done, .refused(status: 403, reason: "the token is for another MSP")])
        await server.stop()
    }

    @Test func `the stages before the envelope name the message, or the reference of the refusal`()
        async throws
    {
        let server = try await ServerUnderTest()
        let customer = server.customer()
        let message = customer.message(.text)
        #expect(try await customer.post(message).status == 200)
        await server.stages.first { $0.stage == .journal }
        let passed: [StageEvent.Stage] = [.authenticate, .inflate, .envelope, .journal]
        let accepted = server.stages.events.filter { passed.contains($0.stage) }
        #expect(accepted.map(\.stage) == passed)
        #expect(Set(accepted.map(\.message)) == [accepted[3].message] && accepted[3].message != nil)
        var request = try customer.request(carrying: message)
        request.set(body: "[]")
        #expect(try await server.transport.send(request).status == 400)
        let refused = server.stages.events.filter { $0.reference != nil && $0.message == nil }
        #expect(refused.map(\.stage) == [.authenticate, .inflate, .envelope])
        #expect(Set(refused.map(\.reference)).count == 1)
        await server.stop()
    }

    @Test func `a request that is refused during reading gets a reference too`() async throws {
        let server = try await ServerUnderTest()
        let target = "/s3cret" + String(repeating: "x", count: 9000)
        let answer = try await server.transport.send(
            TransportRequest(url: server.url + target, allowsPlainHTTP: true))
        #expect(answer.status == 414)
        let body = String(decoding: answer.body, as: UTF8.self)
        let reference = try #require(body.split(separator: "reference ").last).prefix(16)
        #expect(
            server.log.lines.contains {
                $0.contains(reference) && $0.contains("the request line is too long")
            })
        #expect(!body.contains("s3cret") && server.log.lines.allSatisfy { !$0.contains("s3cret") })
        await server.stop()
    }

    @Test(arguments: [
        ("/", 404, "no route has this path"), ("/message", 405, "the path does not support the method"),
    ])
    func `a request without a route gets a reference too`(path: String, status: Int, reason: String)
        async throws
    {
        let server = try await ServerUnderTest()
        let answer = try await server.transport.send(
            TransportRequest(url: server.url + path, allowsPlainHTTP: true))
        #expect(answer.status == status)
        let body = String(decoding: answer.body, as: UTF8.self)
        let reference = try #require(body.split(separator: "reference ").last).prefix(16)
        #expect(server.log.lines.contains { $0.contains(reference) && $0.contains(reason) })
        await server.stop()
    }

    @Test func `of two members of the body named id, the last one is used`() async throws {
        let handler = RecordingHandler()
        let server = try await ServerUnderTest(handler)
        let customer = server.customer()
        var request = try customer.request(carrying: customer.message(.text))
        for name in ["id", "source-id", "destination-id"] { request.remove(name) }
        request.set(
            body: """
                {"id":"first","id":"second","v":1,"type":"text","body":"b","sourceId":"\(customer.id.rawValue)",\
                "destinationId":"\(customer.business.rawValue)"}
                """)
        #expect(try await server.transport.send(request).status == 200)
        _ = await server.gateway.waitForMessages(customer: customer.id)
        #expect(handler.seen.map(\.event.id) == [MessageID("second")])
        await server.stop()
    }

    @Test func `an uncompressed body is accepted unchanged`() async throws {
        let server = try await ServerUnderTest()
        let customer = server.customer()
        let message = customer.message(.text)
        var request = try customer.request(carrying: message)
        request.remove("content-encoding")
        request.body = message
        #expect(try await server.transport.send(request).status == 200)
        await server.stop()
    }

    @Test(arguments: [
        ("identity", false), ("", false), ("GZIP", true), ("x-gzip", true), ("gzip ,identity", true),
    ])
    func `a known content coding is accepted`(coding: String, isGzip: Bool) async throws {
        let server = try await ServerUnderTest()
        let customer = server.customer()
        let message = customer.message(.text)
        var request = try customer.request(carrying: message)
        request.set("content-encoding", coding)
        if !isGzip { request.body = message }
        #expect(try await server.transport.send(request).status == 200)
        await server.stop()
    }

    @Test func `the public listener answers health checks, and 404 for other paths`() async throws {
        let server = try await ServerUnderTest()
        for (path, status) in [("/livez", 200), ("/readyz", 200), ("/", 404), ("/message", 405)] {
            let request = TransportRequest(url: server.url + path, allowsPlainHTTP: true)
            #expect(try await server.transport.send(request).status == status, "\(path)")
        }
        await server.stop()
    }
}

extension BadInputTests.Case {
    init(
        _ name: String, _ status: Int,
        _ spoil: @escaping @Sendable (inout TransportRequest, SimulatedCustomer) throws -> Void
    ) {
        self.init(testDescription: name, status: status, spoil: spoil)
    }
}

extension TransportRequest {
    mutating func remove(_ name: String) { headers.removeAll { $0.name.lowercased() == name } }

    mutating func set(_ name: String, _ value: String) {
        remove(name)
        headers.append((name, value))
    }

    /// Sets another body, compressed like Apple's.
    mutating func set(body text: String) { body = GzipCompressor().compress(Array(text.utf8)) }
}
