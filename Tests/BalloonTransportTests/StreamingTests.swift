import BalloonTransport
import Synchronization
import TestSupport
import Testing

@Suite struct StreamingTests {
    private struct NoDisk: Error {}

    private let transport: CurlTransport

    init() throws { transport = try CurlTransport() }

    /// The bytes 0, 1, 2, … 250, 0, …, in pieces of at most `pieceBytes`.
    ///
    /// The source announces `sizeBytes`, and with `really` it produces that many instead.
    private static func source(_ sizeBytes: Int, really: Int? = nil, pieceBytes: Int = 10_000)
        -> ContentSource
    {
        ContentSource(sizeBytes: sizeBytes) {
            var position = 0
            return { maximumBytes in
                let count = min(maximumBytes, pieceBytes, (really ?? sizeBytes) - position)
                defer { position += count }
                return repeatingBytes(count, period: 251, from: position)
            }
        }
    }

    private func request(_ server: LoopbackServer) -> TransportRequest {
        TransportRequest(method: "POST", url: server.url(), allowsPlainHTTP: true)
    }

    @Test(arguments: [0, 1, 65_536, 3_000_000])
    func `content produced in pieces arrives completely`(sizeBytes: Int) async throws {
        let received = Mutex<[UInt8]>([])
        let server = LoopbackServer { request in
            #expect(request.header("content-length") == "\(sizeBytes)")
            #expect(request.header("content-type") == nil)
            received.withLock { $0 = request.body }
            return .answer(ok())
        }
        var request = request(server)
        request.source = Self.source(sizeBytes)
        #expect(try await transport.send(request).status == 200)
        #expect(received.withLock { $0 } == repeatingBytes(sizeBytes, period: 251))
    }

    @Test func `content that ends early fails the transfer`() async throws {
        let server = LoopbackServer { _ in .answer(ok()) }
        var request = request(server)
        request.source = Self.source(200_000, really: 150_000)
        await #expect(throws: TransportError.contentFailed) { try await transport.send(request) }
        request.source = ContentSource(sizeBytes: 10) { throw NoDisk() }
        await #expect(throws: TransportError.contentFailed) { try await transport.send(request) }
    }

    @Test func `a sink receives the content of a response, and the response itself has none`() async throws {
        let text = String(repeating: "0123456789", count: 200_000)
        let server = LoopbackServer { _ in .answer(ok(text)) }
        let taken = Mutex<(pieces: Int, bytes: [UInt8])>((0, []))
        var request = request(server)
        request.maximumResponseBytes = text.utf8.count
        request.sink = ContentSink { { piece in taken.withLock { $0 = ($0.pieces + 1, $0.bytes + piece) } } }
        #expect(try await transport.send(request).body.isEmpty)
        #expect(taken.withLock { $0.bytes } == Array(text.utf8))
        #expect(taken.withLock { $0.pieces } > 1)
    }

    @Test func `the size limit applies to content that a sink receives`() async throws {
        let server = LoopbackServer { _ in
            .answerAndClose("HTTP/1.1 200 OK\r\n\r\n" + String(repeating: "x", count: 11))
        }
        let taken = Atomic(0)
        var request = request(server)
        request.maximumResponseBytes = 10
        request.sink = ContentSink { { taken.add($0.count, ordering: .relaxed) } }
        await #expect(throws: TransportError.responseTooLarge(maximumBytes: 10)) {
            try await transport.send(request)
        }
        #expect(taken.load(ordering: .relaxed) <= 10)
    }

    @Test func `the content of an error response is collected and not passed to the sink`() async throws {
        let server = LoopbackServer { _ in
            .answer("HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\ngone")
        }
        var request = request(server)
        request.sink = ContentSink { throw NoDisk() }
        let response = try await transport.send(request)
        #expect(response.status == 404)
        #expect(response.body == Array("gone".utf8))
    }

    @Test func `a failing sink ends the transfer`() async throws {
        let server = LoopbackServer { _ in .answer(ok("x")) }
        var request = request(server)
        request.sink = ContentSink { { _ in throw NoDisk() } }
        await #expect(throws: TransportError.contentFailed) { try await transport.send(request) }
    }

    @Test func `an exchange without progress times out`() async throws {
        let server = LoopbackServer { _ in .hang }
        var request = request(server)
        request.stallTimeout = .seconds(1)
        await #expect(throws: TransportError.timedOut) { try await transport.send(request) }
    }
}
