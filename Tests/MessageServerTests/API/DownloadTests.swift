import BalloonPOSIX
import BalloonTransport
import BusinessMessages
import GatewayClient
import Glibc
import MessageStore
import ServerTestSupport
import Simulator
import Synchronization
import TestSupport
import Testing

@testable import MessageServer

/// Slow downloads, which must not delay other requests.
@Suite struct DownloadTests {
    @Test func `downloads whose clients do not read delay no other request of any token`() async throws {
        let server = try await ServerUnderTest.withAPI { $0.api.requestsPerMinute = 100_000 }
        let customer = server.customer()
        let client = try GatewayClient(
            configuration: GatewayConfiguration(
                baseURL: #require(server.gateway.baseURL), mspID: ServerUnderTest.mspID,
                secret: server.secret,
                downloadHosts: [String(#require(server.gateway.origin).dropFirst("http://".count))]),
            logger: server.log.logger)
        let content = [UInt8](repeating: 7, count: 8 << 20)
        let file = try await client.upload(ContentSource(bytes: content), for: ServerUnderTest.business)
        let attachment = String(
            decoding: file.attachment(name: "bread.jpg", mimeType: "image/jpeg").json, as: UTF8.self)
        let message = #"{"id":"m","v":1,"type":"text","body":"\#u{FFFC}","attachments":[\#(attachment)]}"#
        _ = try await customer.post(customer.message(completing: Array(message.utf8)))
        _ = await server.gateway.waitForMessages(customer: customer.id)
        let conversation =
            "/v1/businesses/one/conversations/" + ConversationFiles.name(of: customer.id)
        let path = conversation + "/messages/m/attachments/0"
        #expect(try await server.api(path, headers: [("Range", "bytes=0-9")]).status == 206)
        let address = try #require(server.adminURL?.dropFirst("http://".count))
        var idle = try (0..<64).map { _ in try IdleDownload(String(address), path, TestTokens.all) }
        for download in idle { #expect(download.waitForHead().hasPrefix("HTTP/1.1 200 ")) }
        let further = try await server.api(path)
        #expect(further.status == 503 && further.header("Retry-After") != nil)
        #expect(try await server.api(conversation).status == 200)
        let range = [(name: "Range", value: "bytes=0-9")]
        #expect(try await server.api(path, TestTokens.reader, headers: range).status == 206)
        #expect(try await server.api(path, headers: range).status == 503)
        idle.removeLast()
        #expect(try await eventually { try await server.api(path, headers: range).status == 206 })
        idle.removeAll()
        await server.stop()
    }

    @Test func `answers that a token's clients do not read are bounded, and shut out no other client`()
        async throws
    {
        let server = try await ServerUnderTest.withAPI { $0.api.requestsPerMinute = 100_000 }
        let customer = server.customer()
        // A text that can be compressed much more is refused.
        let text = (0..<900_000).map { String($0) }.joined()
        let accepted = try await customer.post(customer.message(.text, id: MessageID("long"), text: text))
        try #require(accepted.status == 200)
        let conversation =
            "/v1/businesses/one/conversations/" + ConversationFiles.name(of: customer.id)
        let path = conversation + "/messages?before=2&limit=1"
        #expect(try await eventually { try await server.api(conversation).status == 200 })
        let address = try #require(server.adminURL?.dropFirst("http://".count))
        // Three answers fit into the 16 MiB of a token, four do not.
        var idle = try (0..<3).map { _ in try IdleDownload(String(address), path, TestTokens.all) }
        for download in idle { #expect(download.waitForHead().hasPrefix("HTTP/1.1 200 ")) }
        let further = try await server.api(path)
        #expect(further.status == 503 && further.header("Retry-After") != nil)
        #expect(further.problem == "unavailable")
        // Short answers of the token are not refused, nor are long ones of another token.
        #expect(try await server.api(conversation).status == 200)
        idle.append(try IdleDownload(String(address), path, TestTokens.reader))
        #expect(idle[3].waitForHead().hasPrefix("HTTP/1.1 200 "))
        idle.removeAll()
        let isAnswered = try await eventually {
            try IdleDownload(String(address), path, TestTokens.all).waitForHead().hasPrefix("HTTP/1.1 200 ")
        }
        #expect(isAnswered)
        await server.stop()
    }

    @Test func `a token without another answer may get one of any size, and weights are counted`() {
        let answers = InFlightOperations(maximum: 10)
        let large = answers.begin("crm", weighing: 25)
        #expect(large != nil && answers.isFull("crm") && answers.begin("crm", weighing: 1) == nil)
        #expect(answers.begin("desk", weighing: 10) != nil)
        let change = answers.add("crm", weighing: 3)
        #expect(answers.count(of: "crm") == 28)
        large?.release()
        #expect(answers.count(of: "crm") == 3 && !answers.isFull("crm"))
        let (fitting, further) = (answers.begin("crm", weighing: 7), answers.begin("crm", weighing: 1))
        #expect(fitting != nil && further == nil)
        change.release()
        fitting?.release()
        #expect(answers.count(of: "crm") == 0)
    }

    @Test func `operations count for their token until they end, and not for other tokens`() {
        let operations = InFlightOperations(maximum: 2)
        let first = operations.begin("crm")
        var second = operations.begin("crm")
        #expect(first != nil && second != nil && operations.begin("crm") == nil)
        #expect(operations.begin("desk") != nil)
        first?.release()
        first?.release()
        #expect(operations.count(of: "crm") == 1)
        second = nil
        #expect(operations.count(of: "crm") == 0)
        withExtendedLifetime(second) {}
    }

    @Test func `work that does not end in time is aborted`() async throws {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self)
        try await withDeadline(.milliseconds(1), abort: { continuation.finish() }) {
            for await _ in stream {}
        }
        let aborted = Atomic(false)
        try await withDeadline(.seconds(3600), abort: { aborted.store(true, ordering: .relaxed) }) {}
        let isAborted = aborted.load(ordering: .relaxed)
        #expect(!isAborted)
    }
}

/// A client that asks for a file and reads only the beginning of the answer.
private final class IdleDownload {
    private let descriptor: Descriptor

    init(_ address: String, _ path: String, _ token: String) throws {
        let socketAddress = try #require(SocketAddress(address))
        descriptor = try Descriptor.connect(to: socketAddress)
        var writable = pollfd(fd: descriptor.raw, events: Int16(POLLOUT), revents: 0)
        poll(&writable, 1, 60_000)
        var bytes: Int32 = 4096
        setsockopt(descriptor.raw, SOL_SOCKET, SO_RCVBUF, &bytes, socklen_t(MemoryLayout<Int32>.size))
        _ = fcntl(descriptor.raw, F_SETFL, 0)
        let request = "GET \(path) HTTP/1.1\r\nHost: \(address)\r\nAuthorization: Bearer \(token)\r\n\r\n"
        _ = try descriptor.send(Array(request.utf8))
    }

    func waitForHead() -> String {
        var bytes = [UInt8](repeating: 0, count: 64)
        // Returns without a head when the connection fails.
        let count = (try? descriptor.read(into: &bytes, at: 0)) ?? 0
        return String(decoding: bytes[..<count], as: UTF8.self)
    }
}
