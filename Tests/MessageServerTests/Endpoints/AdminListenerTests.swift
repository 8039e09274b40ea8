import BalloonPOSIX
import BalloonTransport
import ServerTestSupport
import TestSupport
import Testing

@testable import MessageServer

/// The admin listener, which operators use beside the public listener.
@Suite struct AdminListenerTests {
    private static let anyPort = SocketAddress.tcp(host: "127.0.0.1", port: 0)

    @Test func `the admin listener lists every check of the readiness, and the public listener a summary`()
        async throws
    {
        let server = try await ServerUnderTest { $0.adminListen = .required(Self.anyPort) }
        let admin = try #require(server.adminURL)
        let verbose = try await server.text(admin + "/readyz?verbose")
        #expect(verbose.contains("journal") && verbose.split(separator: "\n").count > 1)
        #expect(try await server.text(server.url + "/readyz?verbose") == "ok\n")
        #expect(try await server.text(admin + "/livez") == "ok\n")
        await server.stop()
    }

    @Test func `the admin listener serves no messages`() async throws {
        let server = try await ServerUnderTest { $0.adminListen = .required(Self.anyPort) }
        let admin = try #require(server.adminURL)
        let request = TransportRequest(method: "POST", url: admin + "/message", allowsPlainHTTP: true)
        #expect(try await server.transport.send(request).status == 404)
        await server.stop()
    }

    @Test func `a server without an admin address has no admin listener`() async throws {
        let server = try await ServerUnderTest()
        #expect(server.adminURL == nil)
        await server.stop()
    }

    @Test func `a default admin address in use is a warning, and a configured one an error`() async throws {
        let taken = try ListeningSocket(Self.anyPort)
        let address = taken.address
        let server = try await ServerUnderTest { $0.adminListen = .optional(address) }
        #expect(server.adminURL == nil)
        #expect(try await server.readiness() == 200)
        #expect(server.log.lines.contains { $0.contains("admin listener not started") })
        await server.stop()
        let error = await #expect(throws: SystemError.self) {
            _ = try await ServerUnderTest { $0.adminListen = .required(address) }
        }
        #expect(error?.call.contains("bind") == true)
        withExtendedLifetime(taken) {}
    }
}

extension ServerUnderTest {
    /// The status and the text that a URL answers.
    func answer(_ url: String) async throws -> (status: Int, text: String) {
        let answer = try await transport.send(TransportRequest(url: url, allowsPlainHTTP: true))
        return (answer.status, String(decoding: answer.body, as: UTF8.self))
    }

    /// The text that a URL answers with 200.
    fileprivate func text(_ url: String) async throws -> String {
        let answer = try await answer(url)
        #expect(answer.status == 200)
        return answer.text
    }
}
