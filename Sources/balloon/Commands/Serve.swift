import ArgumentParser
import BalloonPOSIX
import Logging
import MessageServer

/// `balloon serve`: runs the server until SIGTERM or SIGINT.
struct Serve: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Run the server.",
        discussion: """
            Prints the bound address when it is ready; the log goes to standard error. SIGHUP, and any change of \
            the configuration's .json files, reload the businesses, the certificate and its key.
            """)

    @Option(help: .value("file", "The server's configuration file."))
    var config: String

    @Option(
        help: .value(
            "host:port",
            "The address to listen on, instead of the configured one; with port 0 the system chooses a port.")
    )
    var listen: SocketAddress?

    @Option(help: .value("dir", "The data directory, instead of the configured one."))
    var data: String?

    @Option(
        help: .value("dir", "Read the inbox's files from this folder for each request, for work on them."))
    var webDir: String?

    @Flag(help: "Wait while another server has the data directory, and start when that one ends.")
    var standby = false

    @OptionGroup var log: LogOptions

    func run() async throws {
        let (logger, stages, levels) = try log.start()
        let (listen, data, webDir) = (listen, data, webDir)
        let inherited = InheritedSockets(environment: ProcessEnvironment.variables())
        let source = ConfigurationSource(file: config, handlers: BuiltinHandlers.all) { configuration in
            configuration.inheritedSockets = inherited
            configuration.listen = listen ?? configuration.listen
            configuration.dataDirectory = data ?? configuration.dataDirectory
            configuration.webFolder = webDir
        }
        let configuration = try source.load()
        logger.notice("server starting", metadata: ["version": "\(BuildVersion.text)"])
        try await Server.run(
            configuration, handlers: BuiltinHandlers.all, logger: logger, observer: stages, source: source,
            version: BuildVersion.number, commit: BuildVersion.commit, logLevels: levels,
            isStandby: standby
        ) { addresses in
            for address in addresses { StandardStream.output.write("listening on \(address)\n") }
        }
    }
}
