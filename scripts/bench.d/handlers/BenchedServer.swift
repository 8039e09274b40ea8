import BalloonJSON
import BalloonPOSIX
import BalloonTransport
import BalloonWire
import BusinessMessages
import HandlerBridges
import HandlerKit
import Logging
import MessageServer
import Simulator

/// A complete server with its gateway and customers, in this process.
final class BenchedServer: Sendable {
    private static let mspID = "11111111-2222-3333-4444-555555555555"

    private let gateway: FakeGateway
    private let server: RunningServer
    private let configuration: ServerConfiguration
    private let transport: CurlTransport
    private let address: String

    /// Starts the server with one business for each binding.
    init(_ bindings: [String], folder: String) async throws {
        let secret = Secret.random(byteCount: 32)
        let logger = Logger(label: "bench")
        gateway = FakeGateway(mspID: Self.mspID, secret: secret, logger: logger)
        transport = try CurlTransport()
        let gatewayAddress = try await gateway.start()
        var configuration = ServerConfiguration(
            mspID: Self.mspID, secret: secret, businesses: try Self.businesses(bindings))
        configuration.listen = .tcp(host: "127.0.0.1", port: 0)
        configuration.dataDirectory = folder
        configuration.gateway.url = gateway.baseURL ?? ""
        configuration.gateway.downloadHosts = ["\(gatewayAddress)"]
        self.configuration = configuration
        let environment = ProcessEnvironment.variables().merging(
            ["HOOK": Base64.encode([UInt8](repeating: 7, count: 32))]
        ) { $1 }
        server = try RunningServer(
            configuration: configuration,
            handlers: [
                EchoFactory(), ExecBinder(environment: environment), HTTPBinder(environment: environment),
            ], logger: logger)
        address = "http://\(try await server.start()[0])"
    }

    private static func businesses(_ bindings: [String]) throws -> [BusinessConfiguration] {
        try bindings.enumerated().map { index, binding in
            let json = try JSONDocument(Array(binding.utf8)).root
            let key = ["exec", "http"].first { json[$0] != nil }
            return BusinessConfiguration(
                slug: "b\(index)", businessID: BusinessID("business-\(index)"), name: "b\(index)",
                handler: key.map { .bound(by: $0, json) }
                    ?? .builtin(name: json["builtin"]?.string ?? "", configuration: nil))
        }
    }

    /// The time of each event from its 200 to its reply at the gateway; every customer writes again after the answer.
    func latencies(customers: Int, events: Int) async throws -> [Duration] {
        try await withThrowingTaskGroup(of: [Duration].self) { group in
            for _ in 0..<customers {
                group.addTask { try await self.converse(events / customers) }
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
    }

    /// Posts this many texts of different customers to a business, without waiting for replies.
    func burden(_ business: Int, events: Int) async throws {
        for _ in 0..<events {
            let customer = customer(of: business)
            _ = try await customer.post(customer.message(.text))
        }
    }

    private func customer(of business: Int) -> SimulatedCustomer {
        SimulatedCustomer(
            id: CustomerID("urn:mbid:\(UInt64.random(in: 0 ... .max))"),
            business: BusinessID("business-\(business)"), server: address, mspID: Self.mspID,
            secret: configuration.secret, gateway: gateway.origin, transport: transport)
    }

    private func converse(_ events: Int) async throws -> [Duration] {
        let customer = customer(of: 0)
        var latencies: [Duration] = []
        for event in 0..<events {
            _ = try await customer.post(customer.message(.text))
            let begun = ContinuousClock.now
            _ = await gateway.waitForMessages(count: event + 1, customer: customer.id)
            latencies.append(.now - begun)
        }
        return latencies
    }

    /// Reloads the server with this configuration.
    func reload(_ bindings: [String]) async {
        await server.reload { () throws(ConfigurationError) in
            var configuration = self.configuration
            // This program wrote a valid configuration.
            configuration.businesses = (try? Self.businesses(bindings)) ?? []
            return configuration
        }
    }

    func stop() async {
        await server.stop(within: .seconds(5))
        await gateway.stop()
    }
}
