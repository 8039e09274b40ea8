import ArgumentParser
import BalloonPOSIX
import BalloonWire
import BusinessMessages
import MessageServer

/// The server that a command works with: the one of `balloon dev`, or a configured one.
struct ServerOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp("The data directory of balloon dev; the default is data.", valueName: "dir")
    )
    var data: String?

    @Option(help: ArgumentHelp("The configuration file of another server instead.", valueName: "file"))
    var config: String?

    func validate() throws {
        guard data == nil || config == nil else {
            throw ValidationError("--data and --config exclude each other.")
        }
    }

    /// Collects the addresses and secrets of the server.
    func server() throws -> KnownServer {
        if let config {
            return KnownServer(
                try ConfigurationLoader.load(
                    file: config, environment: ProcessEnvironment.variables(), handlers: BuiltinHandlers.all))
        }
        let directory = data ?? Dev.defaultDirectory
        guard let server = try DevelopmentServer.read(in: directory) else {
            throw CommandFailure.noDevelopmentServer(path: DevelopmentServer.path(in: directory))
        }
        return KnownServer(server, directory: directory)
    }
}

/// The values needed to write to a server like Apple, and to read its replies.
struct KnownServer {
    /// The server's base URL; nil when HTTP cannot reach its listener.
    let url: String?
    /// The base URL of the simulated gateway, if any.
    let gateway: String?
    /// The MSP's identity.
    let mspID: String
    /// The MSP's secret.
    let secret: Secret
    /// The accepted difference between a token's `iat` and now.
    let tokenAge: Duration
    /// The businesses by slug, in order.
    let businesses: [(slug: String, id: BusinessID)]
    /// The server's configuration.
    let configuration: ServerConfiguration

    init(_ server: DevelopmentServer, directory: String) {
        url = server.server
        gateway = server.gateway
        mspID = server.mspID
        secret = server.secret
        tokenAge = ServerLimits().tokenAge
        businesses = [(DevelopmentServer.slug, server.businessID)]
        configuration = server.configuration(directory: directory)
    }

    init(_ configuration: ServerConfiguration) {
        // A certificate is valid for the public name, not for this machine's address.
        url = configuration.tls == nil ? configuration.listen.localURL : configuration.publicURL
        // Plain http is allowed with loopback addresses only, and a gateway there is the simulator.
        let base = configuration.gateway.url
        gateway = base.hasPrefix("http://") && base.hasSuffix("/v1") ? String(base.dropLast(3)) : nil
        mspID = configuration.mspID
        secret = configuration.secret
        tokenAge = configuration.limits.tokenAge
        businesses = configuration.businesses.map { ($0.slug, $0.businessID) }
        self.configuration = configuration
    }

    /// The business with that slug, or the only business.
    func business(_ slug: String?) throws(CommandFailure) -> BusinessID {
        let found = businesses.filter { slug == nil || $0.slug == slug }
        guard found.count == 1, let business = found.first else {
            let slugs = businesses.map(\.slug).joined(separator: ", ")
            throw .unknownArgument(
                "--business", reason: slug.map { "has no business \(terminalText($0))" } ?? "is required",
                hint: "the businesses are \(slugs)")
        }
        return business.id
    }
}
