import ArgumentParser
import BalloonPOSIX
import MessageServer

/// `balloon serve`: the server, until SIGTERM or SIGINT.
struct Serve: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Run the server.",
        discussion: """
            Prints the bound address once it serves; the log goes to standard error. SIGHUP, and any change of \
            the .json files of the configuration, reads the businesses, the certificate and its key again.
            """)

    @Option(help: ArgumentHelp("The server's file.", valueName: "file"))
    var config: String

    @Option(
        help: ArgumentHelp("Where to listen instead; port 0 lets the system choose.", valueName: "host:port"))
    var listen: SocketAddress?

    @Option(help: ArgumentHelp("Where to keep the data instead.", valueName: "dir"))
    var data: String?

    @OptionGroup var log: LogOptions

    func run() async throws {
        let (logger, stages) = try log.start()
        let (listen, data) = (listen, data)
        let source = ConfigurationSource(file: config, handlers: BuiltinHandlers.all) { configuration in
            configuration.listen = listen ?? configuration.listen
            configuration.dataDirectory = data ?? configuration.dataDirectory
        }
        try await Server.run(
            try source.load(), handlers: BuiltinHandlers.all, logger: logger, observer: stages, source: source
        ) { addresses in
            for address in addresses { StandardStream.output.write("listening on \(address)\n") }
        }
    }
}
