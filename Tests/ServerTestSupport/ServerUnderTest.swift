import BalloonJSON
import BalloonPOSIX
package import BalloonTransport
package import BalloonWire
package import BusinessMessages
package import HandlerKit
package import MessageServer
package import MessageStore
package import Simulator
package import TestSupport
import Testing

/// A server in the tests' own process, over loopback, with a fake gateway, simulated customers and a directory of its
/// own.
///
/// Each test target that needs a whole server adds an initializer for the handlers it tests.
package final class ServerUnderTest: Sendable {
    package static let mspID = "11111111-2222-3333-4444-555555555555"
    package static let business = business(0)
    package static let otherBusiness = business(1)

    package let directory: TemporaryDirectory
    package let configuration: ServerConfiguration
    package let gateway: FakeGateway
    package let transport: CurlTransport
    package let log = LogCollector()
    package let stages = StageCollector()
    package let url: String
    /// The server itself, for tests of its parts.
    package let running: RunningServer

    /// Starts a gateway and the server; `adjust` changes the configuration before the server's start.
    package init(
        businesses: [BusinessConfiguration], handlers: [any HandlerFactory],
        in directory: TemporaryDirectory = TemporaryDirectory(), disk: any StoreDisk = SystemDisk(),
        adjust: (inout ServerConfiguration) -> Void = { _ in }
    ) async throws {
        self.directory = directory
        let secret = Secret.random(byteCount: 32)
        gateway = FakeGateway(mspID: Self.mspID, secret: secret, logger: log.logger)
        transport = try CurlTransport()
        let gatewayAddress = try await gateway.start()
        var configuration = ServerConfiguration(mspID: Self.mspID, secret: secret, businesses: businesses)
        configuration.listen = .tcp(host: "127.0.0.1", port: 0)
        configuration.dataDirectory = directory.file("data")
        configuration.drainDelay = .zero
        configuration.gateway.url = "http://\(gatewayAddress)/v1"
        configuration.gateway.downloadHosts = ["\(gatewayAddress)"]
        adjust(&configuration)
        self.configuration = configuration
        running = try RunningServer(
            configuration: configuration, handlers: handlers, logger: log.logger,
            observer: stages.and(LogObserver(log.logger)), disk: disk)
        url = "http://\(try await running.start()[0])"
    }

    /// The id of the business with this index.
    package static func business(_ index: Int) -> BusinessID {
        BusinessID("5a6b7c8d-0000-4000-8000-00000000000\(index + 2)")
    }

    package var secret: Secret { configuration.secret }

    /// The work that a stop left unfinished, or would leave now.
    package var leftover: Leftover { running.leftover }

    /// The checks of a watchdog.
    package var progressChecks: [Watchdog.Check] { running.progressChecks }

    /// The URL of the admin listener; nil when there is none.
    package var adminURL: String? { running.adminAddress.map { "http://\($0)" } }

    /// A customer with a new opaque id.
    package func customer(
        _ id: String = "urn:mbid:AQAA\(UInt64.random(in: 0 ... .max))+/=",
        to business: BusinessID = ServerUnderTest.business
    ) -> SimulatedCustomer {
        SimulatedCustomer(
            id: CustomerID(id), business: business, server: url, mspID: Self.mspID, secret: secret,
            gateway: gateway.origin, transport: transport)
    }

    /// Replaces the configuration as `SIGHUP` does; returns when the new handlers are started.
    package func reload(_ load: () throws(ConfigurationError) -> ServerConfiguration) async {
        await beginReload(load)?.value
    }

    /// Replaces the configuration as `SIGHUP` does; the returned task ends when the new handlers are started.
    package func beginReload(
        _ load: () throws(ConfigurationError) -> ServerConfiguration
    ) async -> Task<Void, Never>? {
        await running.reload(load)
    }

    /// Returns the server's answer to a request on its control socket.
    package func control(
        _ path: String, method: String = "GET", body: [UInt8] = []
    ) async throws -> TransportResponse {
        try await transport.control(
            path, method: method, body: body, dataDirectory: configuration.dataDirectory)
    }

    /// The status of `/readyz`.
    package func readiness() async throws -> Int {
        try await transport.send(TransportRequest(url: url + "/readyz", allowsPlainHTTP: true)).status
    }

    /// The lines of the customer's conversation.
    package func conversation(of customer: SimulatedCustomer) throws -> [ConversationLine] {
        try ConversationFiles(dataDirectory: configuration.dataDirectory).lines(
            of: customer.business, customer.id)
    }

    /// Stops only the server; false when work remained unfinished at the limit.
    package func stopServer(within limit: Duration, grace: Duration? = nil) async -> Bool {
        await running.stop(within: limit, grace: grace)
    }

    /// Stops the server and the gateway, and searches the log for customers' ids, credentials and `secrets`.
    package func stop(within limit: Duration = .seconds(60), secrets: [String] = []) async {
        _ = await running.stop(within: limit)
        await gateway.stop()
        let all = secrets + [Base64.encode(secret.bytes), "urn:mbid:", "Bearer"]
        for line in log.lines {
            for secret in all where line.contains(secret) {
                Issue.record("a log line has a secret: \(secret)")
            }
        }
    }
}

extension CurlTransport {
    /// Returns the answer to a request on the control socket in `dataDirectory`.
    package func control(
        _ path: String, method: String = "GET", body: [UInt8] = [], dataDirectory: String
    ) async throws -> TransportResponse {
        var request = TransportRequest(
            method: method, url: "http://localhost" + path, body: body, allowsPlainHTTP: true)
        request.unixSocket = dataDirectory + "/control.sock"
        return try await send(request)
    }
}
