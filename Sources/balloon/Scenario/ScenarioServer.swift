import BalloonPOSIX
import BalloonTransport
import BalloonWire
import BusinessMessages
import Logging
import MessageServer
import Simulator

/// The server of a scenario's run: free ports, and a data directory that is removed at the end.
struct ScenarioServer {
    let simulators: DevelopmentSimulators
    /// The business that is played.
    let business: KnownBusiness
    /// The data directory, which ``stop()`` removes.
    let directory: String
    let server: RunningServer
    private let known: DevelopmentServer
    private let transport: CurlTransport

    private static let startLimit = Duration.seconds(30)

    /// Starts the server, and waits until the handler of the business is ready; throws a ``CommandFailure`` when it
    /// does not start.
    ///
    /// `business` names one of a configuration's businesses; it may be nil when there is only one. `change` changes the
    /// configuration before the start.
    init(
        _ choice: DevelopmentHandler, business name: String?, _ logger: Logger,
        levers: HandlerLevers? = nil, change: (inout ServerConfiguration) throws -> Void = { _ in }
    ) async throws {
        var known = DevelopmentServer.random()
        let binding = try choice.binding(for: known)
        transport = try CurlTransport()
        directory =
            (ProcessEnvironment.variables()["TMPDIR"] ?? "/tmp") + "/balloon-" + Hex.encode(randomBytes(6))
        do {
            try Directory.make(directory)
            simulators = try await DevelopmentSimulators(
                for: &known, isConfigured: choice.config != nil, in: directory, logger)
        } catch {
            try? Directory.removeAll(directory)
            throw error
        }
        do {
            var configuration = try Self.configuration(
                choice, known, binding, simulators, directory: directory)
            try change(&configuration)
            business = try KnownBusiness.choose(name, among: configuration.businesses.map(KnownBusiness.init))
            server = try RunningServer(
                configuration: configuration, handlers: BuiltinHandlers.all, logger: logger,
                levers: levers)
            known.server = try await server.start().first?.localURL ?? ""
        } catch {
            await simulators.stop()
            try? Directory.removeAll(directory)
            throw error
        }
        self.known = known
        guard try await Self.isReady(business, directory) else {
            await stop()
            throw CommandFailure.handlerNotReady(
                program: terminalText(
                    choice.handler ?? choice.handlerURL ?? choice.config.map {
                        "\(business.slug ?? "") of \($0)"
                    }
                        ?? "demo"),
                hint: choice.handlerURL == nil
                    ? "run balloon handlers check with the program to see why"
                    : "check that the service runs at this address and has the secret of --handler-secret-env"
            )
        }
    }

    /// The demo business with its handler, or the businesses of a configuration; the simulators replace what is outside.
    private static func configuration(
        _ choice: DevelopmentHandler, _ known: DevelopmentServer, _ binding: HandlerBinding?,
        _ simulators: DevelopmentSimulators, directory: String
    ) throws -> ServerConfiguration {
        let adjust: @Sendable (inout ServerConfiguration) -> Void = {
            simulators.adjust(&$0)
            $0.listen = .tcp(host: "127.0.0.1", port: 0)
            $0.adminListen = .off
            // The program that plays the customer does not look at indicators.
            $0.pausesReplies = false
            // A scenario asks no question of the App Store.
            $0.apps = []
        }
        guard let file = choice.config else {
            var configuration = known.configuration(directory: directory, handler: binding)
            adjust(&configuration)
            return configuration
        }
        let source = ConfigurationSource(file: file, handlers: BuiltinHandlers.all, for: .development) {
            known.adjust(&$0, directory: directory)
            adjust(&$0)
        }
        return try source.load()
    }

    /// Whether the handler of a business becomes ready in time.
    private static func isReady(_ business: KnownBusiness, _ directory: String) async throws -> Bool {
        let socket = try ControlSocket(data: directory)
        let end = ContinuousClock.now + startLimit
        while ContinuousClock.now < end {
            let handlers = try JSONDocument(try await socket.ask(ControlOperations.handlers, Nothing())).root[
                "handlers"]
            let handler = handlers?.elements.first { $0["business"]?.string == business.slug }
            // A program that ends at once is restarted again and again.
            if handler?["restarts"]?.int ?? 0 > 1 { return false }
            if handler?["health"]?.string == "ready" { return true }
            try await Task.sleep(for: .milliseconds(50))
        }
        return false
    }

    /// The address of the server.
    var url: String { known.server }

    /// The address of the admin listener; nil when it is off.
    var adminURL: String? { server.adminAddress.map { "http://\($0)" } }

    /// A new customer with every capability.
    func customer() -> SimulatedCustomer {
        SimulatedCustomer(
            id: PhoneCustomer.randomID(), business: business.id, server: known.server, mspID: known.mspID,
            secret: known.secret, gateway: known.gateway, transport: transport)
    }

    /// A new customer with the device of a scenario.
    func customer(of scenario: Scenario) -> SimulatedCustomer {
        var customer = customer()
        customer.capabilities = scenario.device.capabilities
        customer.locale = scenario.locale
        customer.intent = scenario.intent
        customer.group = scenario.group
        return customer
    }

    /// Stops everything, and removes the data directory; a rest only occupies space.
    func stop() async {
        await server.stop(within: .seconds(10), grace: .seconds(1))
        await simulators.stop()
        try? Directory.removeAll(directory)
    }
}
