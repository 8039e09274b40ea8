import ArgumentParser
import BalloonPOSIX
import BalloonWire
import BusinessMessages
import MessageServer

/// Which server a command deals with: the one that `balloon dev` runs, or a configured one.
struct ServerOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp("The data directory of balloon dev; data unless said otherwise.", valueName: "dir")
    )
    var data: String?

    @Option(help: ArgumentHelp("The file of a configured server instead.", valueName: "file"))
    var config: String?

    func validate() throws {
        guard data == nil || config == nil else {
            throw ValidationError("--data and --config exclude each other.")
        }
    }

    /// Finds out all about the server that a stranger could not know.
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

/// What must be known to write to a server as Apple does, and to see what it answers.
struct KnownServer {
    /// The server's base URL; nil when it listens where HTTP cannot reach it.
    let url: String?
    /// The base URL of the simulator that plays the gateway, when one does.
    let gateway: String?
    /// The MSP's identity.
    let mspID: String
    /// The MSP's secret.
    let secret: Secret
    /// How far a token's `iat` may be from now.
    let tokenAge: Duration
    /// The businesses by slug, in order.
    let businesses: [(slug: String, id: BusinessID)]
    /// Everything that the server was told.
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
        // A certificate proves the public name, not this machine's address.
        url = configuration.tls == nil ? configuration.listen.localURL : configuration.publicURL
        // Plain http is allowed to this machine only, and there it is a simulator that plays the gateway.
        let base = configuration.gateway.url
        gateway = base.hasPrefix("http://") && base.hasSuffix("/v1") ? String(base.dropLast(3)) : nil
        mspID = configuration.mspID
        secret = configuration.secret
        tokenAge = configuration.limits.tokenAge
        businesses = configuration.businesses.map { ($0.slug, $0.businessID) }
        self.configuration = configuration
    }

    /// The business with that slug, or the only one there is.
    func business(_ slug: String?) throws(CommandFailure) -> BusinessID {
        let found = businesses.filter { slug == nil || $0.slug == slug }
        guard found.count == 1, let business = found.first else {
            let slugs = businesses.map(\.slug).joined(separator: ", ")
            throw .unknownArgument(
                "--business", reason: slug.map { "has no business \(terminalText($0))" } ?? "is needed",
                hint: "the businesses are \(slugs)")
        }
        return business.id
    }
}
