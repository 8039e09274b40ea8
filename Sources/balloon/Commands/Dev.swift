import ArgumentParser
import BalloonJSON
import BalloonPOSIX
import Logging
import MessageServer
import Simulator

/// `balloon dev`: the real server with a demo business, and the simulator instead of Apple's gateway.
struct Dev: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Run the server with a demo business and a simulated gateway.",
        discussion:
            """
            Prints three commands to try. Other commands find the server through the file dev.json in its data directory.

            With --misbehave the gateway misbehaves by a rule. A rule names a call: message, authenticate, preUpload, upload, \
            encodePayload, constructPayload, preDownload, blob or decodePayload, and then =503 or another status (=429/7 with \
            Retry-After), =delay/250 (milliseconds), =silence, =drop, =expired, =truncate/100, =longer/1, =shorter/1, \
            =garble, =slow/1000 (bytes a second) or =endless; ,times=N for the next N requests only, ,every=N for each \
            N-th. While it runs, POST rules to /_simulator/misbehaviour of the gateway; an empty body removes all rules.
            """
    )

    static let defaultDirectory = "data"

    @Option(
        help: ArgumentHelp(
            "The address to listen on; with port 0 the system chooses.", valueName: "host:port"))
    var listen = SocketAddress.tcp(host: "127.0.0.1", port: 8080)

    @Option(help: ArgumentHelp("The data directory.", valueName: "dir"))
    var data = Dev.defaultDirectory

    @Option(
        help: ArgumentHelp(
            "A handler program to run instead of the demo.",
            valueName: "program"))
    var handler: String?

    @Option(
        help: ArgumentHelp(
            "A rule for the simulated gateway: ENDPOINT=WHAT[,times=N][,every=N]; may be repeated.",
            valueName: "rule"))
    var misbehave: [MisbehaviourRule] = []

    @OptionGroup var log: LogOptions

    func validate() throws {
        if handler?.isEmpty ?? false { throw ValidationError("The handler's name is empty.") }
        if listen.localURL == nil { throw ValidationError("balloon dev listens on a TCP address only.") }
    }

    func run() async throws {
        let binding = try binding()
        let logger = try log.start().logger
        var known = try DevelopmentServer.read(in: data) ?? .random()
        let gateway = FakeGateway(
            mspID: known.mspID, secret: known.secret, businesses: [known.businessID], logger: logger)
        for rule in misbehave { gateway.misbehave(rule) }
        let address = try await gateway.start()
        known.gateway = "http://\(address)"
        do {
            try await serve(known, binding, logger)
        } catch {
            await gateway.stop()
            throw error
        }
        await gateway.stop()
    }

    private func binding() throws -> HandlerBinding {
        guard let handler else { return .builtin(name: DemoHandlerFactory().name, configuration: nil) }
        let program = SpawnedProcess.Program([handler], environment: [:], directory: ".")
        if let error = program.obstacle {
            throw CommandFailure.unstartable(
                program: terminalText(handler), error, hint: terminalText(program.advice(about: error)))
        }
        let json = JSONWriter.object { writer in
            writer.key("exec")
            writer.array { $0.string(handler) }
        }
        return .bound(by: "exec", try JSONDocument(json).root)
    }

    private func serve(
        _ known: DevelopmentServer, _ binding: HandlerBinding, _ logger: Logger
    ) async throws {
        var configuration = known.configuration(directory: data, handler: binding)
        configuration.listen = listen
        try await Server.run(configuration, handlers: BuiltinHandlers.all, logger: logger) { addresses in
            var known = known
            known.server = addresses.first?.localURL ?? ""
            // Written only after the server locked the directory, so that another server's addresses are not
            // overwritten.
            try known.write(in: data)
            StandardStream.output.write(DevelopmentGreeting(server: known, directory: data).text)
        }
    }
}

/// `ENDPOINT=WHAT[,times=N][,every=N]`.
extension MisbehaviourRule: ExpressibleByArgument {
    init?(argument: String) { self.init(argument) }
}
