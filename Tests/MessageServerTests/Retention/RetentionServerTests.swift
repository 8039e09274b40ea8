import BalloonHTTP
import BalloonPOSIX
import BalloonTransport
import Glibc
import RetentionClient
import RetentionMessages
import ServerTestSupport
import Simulator
import TestSupport
import Testing

@testable import MessageServer

@Suite struct RetentionServerTests {
    private func post(_ body: [UInt8], _ path: String, to server: ServerUnderTest) async throws
        -> TransportResponse
    {
        try await server.transport.send(
            TransportRequest(
                method: "POST", url: server.url + path, headers: [("content-type", "application/json")],
                body: body, allowsPlainHTTP: true))
    }

    @Test func `a server with an app answers on both paths, and a reload replaces the app`() async throws {
        let app = try AppUnderTest()
        let now = Int(Timestamp.now().milliseconds)
        try app.record(.approved)
        try app.record(.approved, in: .sandbox)
        let configuration = try app.configuration()
        let data = app.directory.file("data")
        let server = try await ServerUnderTest(directory: app.directory) { server in
            server.apps = [configuration]
            server.dataDirectory = data
        }
        for environment in RetentionEnvironment.allCases {
            let question = try app.question(environment: environment, signedMilliseconds: now)
            let path = "/retention/shop/\(environment.name)"
            let answer = try await post(app.store.body(asking: question), path, to: server)
            #expect(answer.status == 200)
            #expect(answer.header("content-type") == "application/json")
            #expect(String(decoding: answer.body, as: UTF8.self).contains("messageIdentifier"))
            let limit = RetentionRoutes.maximumBodyBytes
            let large = [UInt8](repeating: 0x20, count: limit)
            #expect(try await post(large, path, to: server).status == 400)
            #expect(try await post(large + [0x20], path, to: server).status == 413)
        }
        #expect(try await post([], "/retention/other/sandbox", to: server).status == 404)
        #expect(try await post([], "/retention/shop/xcode", to: server).status == 404)
        var changed = server.configuration
        changed.apps = []
        let reloaded = changed
        await server.reload { () throws(ConfigurationError) in reloaded }
        #expect(try await post([], "/retention/shop/sandbox", to: server).status == 404)
        await server.stop(secrets: ["99371282"])
        let day = Timestamp(milliseconds: Int64(now)).rfc3339.prefix(10)
        let path = data + "/retention/shop/decisions-\(day).jsonl"
        let lines = String(decoding: try File(path, for: .reading).readAll(), as: UTF8.self)
        #expect(lines.split(separator: "\n").count == 2)
        #expect(!lines.contains("99371282"))
    }

    @Test func `a body that dawdles gets 408`() async throws {
        let app = try AppUnderTest()
        let configuration = try app.configuration()
        let server = try await ServerUnderTest(directory: app.directory) { server in
            server.apps = [configuration]
            server.http.bodyTimeout = .milliseconds(200)
        }
        let address = try #require(SocketAddress(String(server.url.dropFirst("http://".count))))
        let answer = try await onThread {
            let descriptor = try Descriptor.connect(to: address)
            var writable = pollfd(fd: descriptor.raw, events: Int16(POLLOUT), revents: 0)
            poll(&writable, 1, 60_000)
            _ = fcntl(descriptor.raw, F_SETFL, 0)
            let head = "POST /retention/shop/sandbox HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n{"
            _ = try descriptor.send(Array(head.utf8))
            var bytes: [UInt8] = []
            while try descriptor.read(onto: &bytes, maximumBytes: 1024) > 0 {}
            return String(decoding: bytes, as: UTF8.self)
        }
        #expect(answer.hasPrefix("HTTP/1.1 408 "), "\(answer)")
        await server.stop()
    }

    @Test func `a server without an app has no route for questions`() async throws {
        let server = try await ServerUnderTest()
        #expect(try await post([], "/retention/shop/sandbox", to: server).status == 404)
        #expect(!Directory.exists(server.configuration.dataDirectory + "/retention"))
        await server.stop()
    }
}
