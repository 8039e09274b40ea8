import ArgumentParser
import BalloonPOSIX
import Logging
import MessageServer
import MessageStore
import Simulator

/// `balloon dev`: the real server with a demo business, and the simulator instead of Apple's gateway.
struct Dev: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract:
            "Run the server with a simulated gateway, and with a demo business or those of a configuration.",
        discussion:
            """
            Prints commands to try. Other commands find the server through the file dev.json in its data directory.

            With --misbehave the gateway misbehaves by a rule. A rule names a call: message, authenticate, preUpload, upload, \
            encodePayload, constructPayload, preDownload, blob or decodePayload, and then =503 or another status (=429/7 with \
            Retry-After), =delay/250 (milliseconds), =silence, =drop, =expired, =truncate/100, =longer/1, =shorter/1, \
            =garble, =slow/1000 (bytes a second) or =endless; ,times=N for the next N requests only, ,every=N for each \
            N-th. While it runs, POST rules to /_simulator/misbehaviour of the gateway; an empty body removes all rules.
            """
    )

    static let defaultDirectory = "data"

    @Option(help: .value("host:port", "The address to listen on; with port 0 the system chooses a port."))
    var listen = SocketAddress.tcp(host: "127.0.0.1", port: 8080)

    @Option(
        name: .customLong("data"),
        help: .value(
            "dir",
            "The data directory; the default is BALLOON_DATA_DIRECTORY, else data, and never that of --config."
        ))
    var directory: String?

    private var data: String {
        get throws { try DataOptions.directory(directory, config: nil) }
    }

    @OptionGroup var choice: DevelopmentHandler

    @Option(
        help: .value(
            "rule", "A rule for the simulated gateway: ENDPOINT=WHAT[,times=N][,every=N]; may be repeated."))
    var misbehave: [MisbehaviourRule] = []

    @Flag(
        inversion: .prefixedNo,
        help: "Restart a handler that is a program when its file, or a source below its folder, changes.")
    var reload = true

    @Option(help: .value("dir", "Read the pages' files from this folder for each request, for work on them."))
    var webDir: String?

    @Option(help: .value("dir", "A folder with scenarios, which the phone's page lists, plays and saves."))
    var scenarios: String?

    @OptionGroup var inspector: InspectorOptions
    @OptionGroup var log: LogOptions

    func validate() throws {
        if listen.localURL == nil { throw ValidationError("balloon dev listens on a TCP address only.") }
    }

    func run() async throws {
        var known = try identity()
        let binding = try choice.binding(for: known)
        let (logger, _, levels) = try log.start()
        let simulators = try await DevelopmentSimulators(
            for: &known, isConfigured: choice.config != nil, misbehaving: misbehave, in: try data, logger)
        try await running {
            let appStore = try DevelopmentAppStore(logger)
            try await running {
                try await serve(known, binding, simulators, appStore, logger, levels)
            } stop: {
                await appStore.stop()
            }
        } stop: {
            await simulators.stop()
        }
    }

    /// Returns the identity that the data directory has, or a new one.
    private func identity() throws -> DevelopmentServer {
        let data = try data
        if let known = try DevelopmentServer.read(in: data) { return known }
        // Refuse a directory of `balloon serve`: the simulated gateway would accept its queued replies, which
        // are for Apple's gateway. The check throws when no server has created the directory.
        if Directory.isDirectory(data), (try? Store.check(data)) != nil {
            throw CommandFailure.foreignDataDirectory(path: terminalText(data))
        }
        // Write the file now, so that after a failed start the directory still belongs to `balloon dev`.
        let server = DevelopmentServer.random()
        try Directory.make(data)
        try server.write(in: data)
        return server
    }

    private func serve(
        _ known: DevelopmentServer, _ binding: HandlerBinding?, _ simulators: DevelopmentSimulators,
        _ appStore: DevelopmentAppStore, _ logger: Logger, _ levels: LogLevels
    ) async throws {
        let (listen, webDir, data) = (listen, webDir, try data)
        let events = InspectorEvents(passingTo: LogObserver(logger))
        let phone = try Phone(gateway: simulators.gateway, events: events, directory: data)
        let page = Inspector(
            inspector.settings(webFolder: webDir), events: events,
            routes: phone.routes + PhoneScenarios(phone: phone, folder: scenarios).routes, simulator: phone,
            logger: logger)
        let source = choice.config.map { file in
            ConfigurationSource(file: file, handlers: BuiltinHandlers.all, for: .development) {
                known.adjust(&$0, directory: data)
                simulators.adjust(&$0)
                appStore.adjust(&$0)
                $0.listen = listen
                $0.webFolder = webDir
                $0.drainDelay = .zero
            }
        }
        var configuration = known.configuration(directory: data, handler: binding)
        configuration.listen = listen
        // No load balancer waits for a developer's server.
        configuration.drainDelay = .zero
        simulators.adjust(&configuration)
        if let source {
            configuration = try source.load()
            try await appStore.start(configuration.apps)
            appStore.adjust(&configuration)
        }
        let businesses = configuration.businesses
        var reloading: HandlerReloading?
        try await Server.run(
            configuration, handlers: BuiltinHandlers.all, logger: logger, observer: events, inspector: page,
            source: source, version: BuildVersion.number, commit: BuildVersion.commit, logLevels: levels
        ) { addresses in
            var known = known
            known.server = addresses.first?.localURL ?? ""
            known.businesses = businesses.map(KnownBusiness.init)
            known.apps = appStore.apps
            try appStore.ask(known.server, writingRootTo: data)
            // Write the addresses only after the server has locked the directory, so that they never overwrite those
            // of another running server.
            try known.write(in: data)
            phone.open(known, businesses)
            if reload { reloading = HandlerReloading(of: businesses, data: data, logger: logger) }
            let greeting = DevelopmentGreeting(
                server: known, directory: data, handlers: businesses, config: choice.config,
                page: page.pageURL ?? "")
            StandardStream.output.write(greeting.text)
        }
        withExtendedLifetime(reloading) {}
    }
}

/// An argument of the form `ENDPOINT=WHAT[,times=N][,every=N]`.
extension MisbehaviourRule: ExpressibleByArgument {
    init?(argument: String) { self.init(argument) }
}
