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

    private static let hosts: [(host: String, origin: String?, isAllowed: Bool)] = [
        ("127.0.0.1", nil, true), ("127.0.0.1:9", nil, true), ("10.1.2.3:9100", nil, true),
        ("[2001:db8::1]", nil, true),
        ("localhost:1", nil, true), ("metrics.example", nil, true), ("Metrics.Example:9", nil, true),
        ("evil.example", nil, false), ("127.0.0.1.evil.example", nil, false),
        ("metrics.example.evil", nil, false),
        ("1.2.3", nil, false), ("127.0.0.1", "http://127.0.0.1", true),
        ("127.0.0.1", "http://evil.example", false),
        ("127.0.0.1", "null", false),
    ]

    @Test func `metrics and the details of readiness are shown to callers that name this listener only`()
        async throws
    {
        let server = try await ServerUnderTest {
            $0.adminListen = .required(Self.anyPort)
            $0.api.hosts = ["metrics.example"]
        }
        let admin = try #require(server.adminURL)
        for (host, origin, isAllowed) in Self.hosts {
            for path in ["/metrics", "/readyz?verbose"] {
                let headers =
                    [(name: "Host", value: host)] + (origin.map { [(name: "Origin", value: $0)] } ?? [])
                let answer = try await server.transport.send(
                    TransportRequest(url: admin + path, headers: headers, allowsPlainHTTP: true))
                #expect(answer.status == (isAllowed ? 200 : 421), "\(path) \(host) \(origin ?? "")")
            }
            let ready = try await server.transport.send(
                TransportRequest(
                    url: admin + "/readyz", headers: [(name: "Host", value: host)], allowsPlainHTTP: true))
            #expect(ready.status == 200)
        }
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
