import BalloonJSON
import BalloonPOSIX
import BalloonTransport
import BalloonWire
import BusinessMessages
import HandlerKit
import MessageStore
import Simulator
import Synchronization
import TestSupport
import Testing

@testable import HandlerBridges
@testable import MessageServer

/// A server whose businesses have handlers outside the process, with a fake gateway.
final class BridgedServer: Sendable {
    static let mspID = "11111111-2222-3333-4444-555555555555"

    let directory: TemporaryDirectory
    let secret = Secret.random(byteCount: 32)
    let gateway: FakeGateway
    let transport: CurlTransport
    let log = LogCollector()
    let stages = Stages()
    private let server: RunningServer
    private let address: String

    private let configuration: ServerConfiguration

    /// Starts both.
    ///
    /// `bindings` are JSON objects, one for each business, whose id is `business-` and the index.
    ///
    /// A binding with a member `handler` is the business's whole file except its id and name.
    init(
        _ bindings: [String], directory: TemporaryDirectory = TemporaryDirectory(),
        timings: ChildTimings = .quick, limits: ServerLimits = ServerLimits(),
        handlers: [any HandlerFactory] = []
    ) async throws {
        self.directory = directory
        gateway = FakeGateway(mspID: Self.mspID, secret: secret, logger: log.logger)
        transport = try CurlTransport()
        let gatewayAddress = try await gateway.start()
        let businesses = try Self.businesses(bindings, in: directory)
        var configuration = ServerConfiguration(mspID: Self.mspID, secret: secret, businesses: businesses)
        configuration.listen = .tcp(host: "127.0.0.1", port: 0)
        configuration.dataDirectory = directory.file("data")
        configuration.gateway.url = try #require(gateway.baseURL)
        configuration.gateway.downloadHosts = ["\(gatewayAddress)"]
        configuration.limits = limits
        let environment = ProcessEnvironment.variables().merging(
            ["BALLOON_SECRET": "c2VjcmV0", "SOME_PASSWORD": "secret", "HOOK": ServiceHandlerTests.secret]
        ) { $1 }
        self.configuration = configuration
        server = try RunningServer(
            configuration: configuration,
            handlers: [
                ExecBinder(timings: timings, environment: environment), HTTPBinder(environment: environment),
            ] + handlers, logger: log.logger,
            observer: stages)
        address = "http://\(try await server.start()[0])"
    }

    static func business(_ index: Int) -> BusinessID { BusinessID("business-\(index)") }

    private static func businesses(
        _ bindings: [String], in directory: TemporaryDirectory
    ) throws -> [BusinessConfiguration] {
        try bindings.enumerated().filter { $0.element != "" }.map { index, binding in
            let json = try JSONDocument(Array(binding.utf8)).root
            let members =
                json["handler"] == nil ? #""handler": \#(binding)"# : String(binding.dropFirst().dropLast())
            let file = #"{"businessID": "business-\#(index)", "name": "b\#(index)", \#(members)}"#
            var problems: [ConfigurationProblem] = []
            let read = BusinessFile.read(
                try JSONDocument(Array(file.utf8)).root, file: directory.file("b\(index).json"),
                slug: "b\(index)",
                handlers: nil, noting: &problems)
            guard problems.isEmpty, let business = read?.business else {
                throw ConfigurationError.problems(problems)
            }
            return business
        }
    }

    /// Reloads the configuration with these bindings; an empty text removes the business.
    func reload(_ bindings: [String]) async {
        await server.reload { () throws(ConfigurationError) in
            var configuration = self.configuration
            do {
                configuration.businesses = try Self.businesses(bindings, in: self.directory)
            } catch {
                throw error as? ConfigurationError ?? .problems([])
            }
            return configuration
        }
    }

    func customer(
        _ index: Int = 0, id: CustomerID = CustomerID("urn:mbid:AQAA\(UInt64.random(in: 0 ... .max))")
    ) -> SimulatedCustomer {
        SimulatedCustomer(
            id: id, business: Self.business(index),
            server: address, mspID: Self.mspID, secret: secret, gateway: gateway.origin, transport: transport)
    }

    /// The status of `/readyz`.
    func readiness() async throws -> Int {
        try await transport.send(TransportRequest(url: address + "/readyz", allowsPlainHTTP: true)).status
    }

    func conversation(of customer: SimulatedCustomer) throws -> [ConversationLine] {
        try ConversationFiles(dataDirectory: directory.file("data")).lines(of: customer.business, customer.id)
    }

    /// Stops both; events in flight may finish within `grace`.
    func stop(within grace: Duration = .seconds(60)) async {
        await server.stop(within: grace)
        await gateway.stop()
    }

    /// The status of the handlers, from the control socket.
    func handlers() async throws -> JSONValue {
        var request = TransportRequest(url: "http://localhost/handlers", allowsPlainHTTP: true)
        request.unixSocket = directory.file("data/control.sock")
        return try JSONDocument(try await transport.send(request).body).root
    }
}

/// Records all stage events, and lets a test wait for one.
final class Stages: StageObserver {
    private typealias Waiter = (
        wanted: @Sendable (StageEvent) -> Bool, CheckedContinuation<StageEvent, Never>
    )
    private let state = Mutex<(events: [StageEvent], waiters: [Waiter])>(([], []))

    var events: [StageEvent] { state.withLock { $0.events } }

    func observe(_ event: StageEvent) {
        let ready = state.withLock { state in
            state.events.append(event)
            // Called once for each event: the predicate may have side effects.
            var ready: [CheckedContinuation<StageEvent, Never>] = []
            state.waiters.removeAll { waiter in
                guard waiter.wanted(event) else { return false }
                ready.append(waiter.1)
                return true
            }
            return ready
        }
        for waiter in ready { waiter.resume(returning: event) }
    }

    /// Waits until `count` events match.
    func count(_ count: Int, where wanted: @escaping @Sendable (StageEvent) -> Bool) async {
        let seen = Mutex(0)
        await first { event in
            guard wanted(event) else { return false }
            return seen.withLock { seen in
                seen += 1
                return seen == count
            }
        }
    }

    @discardableResult
    func first(where wanted: @escaping @Sendable (StageEvent) -> Bool) async -> StageEvent {
        await withCheckedContinuation { continuation in
            let event = state.withLock { state -> StageEvent? in
                if let event = state.events.first(where: wanted) { return event }
                state.waiters.append((wanted, continuation))
                return nil
            }
            if let event { continuation.resume(returning: event) }
        }
    }
}

extension ChildTimings {
    /// For handlers that work: limits that a busy machine keeps, and restarts without a pause.
    static var quick: ChildTimings {
        var timings = ChildTimings()
        timings.handshake = .seconds(60)
        timings.signOfLife = .seconds(60)
        timings.grace = .seconds(60)
        timings.restarts.backoff = Backoff([.milliseconds(20)])
        return timings
    }

    /// For handlers that hang or do not end: short limits, since longer ones would change nothing.
    static var impatient: ChildTimings {
        var timings = ChildTimings.quick
        timings.signOfLife = .seconds(1)
        timings.grace = .milliseconds(300)
        return timings
    }
}
