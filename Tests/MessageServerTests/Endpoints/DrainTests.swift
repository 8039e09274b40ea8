import BalloonPOSIX
import BalloonTransport
import MessageServer
import ServerTestSupport
import TestSupport
import Testing

/// A stopping server accepts connections for a while, so that a prober can see the 503 of `/readyz`.
@Suite struct DrainTests {
    enum Prober: CaseIterable {
        case publicReadiness, publicLiveness, admin, healthcheck, operators
    }

    private func server(_ delay: Duration?) async throws -> ServerUnderTest {
        try await ServerUnderTest(RecordingHandler()) {
            $0.adminListen = .required(.tcp(host: "127.0.0.1", port: 0))
            $0.drainDelay = delay
        }
    }

    private func probe(_ server: ServerUnderTest, _ prober: Prober) async throws -> Int {
        func get(_ url: String) async throws -> Int {
            try await server.transport.send(TransportRequest(url: url, allowsPlainHTTP: true)).status
        }
        return switch prober {
        case .publicReadiness: try await get(server.url + "/readyz")
        case .publicLiveness: try await get(server.url + "/livez")
        case .admin: try await get(try #require(server.adminURL) + "/readyz")
        case .healthcheck: try await server.control("/livez").status
        case .operators: try await server.control("/readyz?verbose").status
        }
    }

    /// Stops the server, and returns the time that this took.
    private func stop(_ server: ServerUnderTest, within limit: Duration) async -> Duration {
        let duration = await ContinuousClock().measure { _ = await server.stopServer(within: limit) }
        await server.stop()
        return duration
    }

    @Test(arguments: Prober.allCases)
    func `a stop after a probe drains without a setting`(_ prober: Prober) async throws {
        let server = try await server(nil)
        #expect(try await probe(server, prober) == 200)
        // A quarter of a limit below ten seconds is the longest drain.
        #expect(await stop(server, within: .seconds(2)) >= .milliseconds(500))
    }

    @Test func `a stop without a probe drains only with an explicit delay`() async throws {
        #expect(await stop(try await server(nil), within: .seconds(60)) < .seconds(5))
        #expect(await stop(try await server(.seconds(1)), within: .seconds(60)) >= .seconds(1))
    }

    @Test func `an explicit delay of 0 drains never`() async throws {
        let server = try await server(.zero)
        #expect(try await probe(server, .publicReadiness) == 200)
        #expect(await stop(server, within: .seconds(60)) < .seconds(5))
    }
}
