import ArgumentParser
import BalloonPOSIX
import BalloonWire
import BusinessMessages
import MessageServer

/// The options that name the server of a command: one that `balloon dev` runs, or one with a configuration.
struct ServerOptions: ParsableArguments {
    @OptionGroup var place: DataOptions

    /// Whether `--data` or `--config` was given.
    var namesServer: Bool { place.directory != nil || place.config != nil }

    /// Reads the addresses and secrets of the server; throws when `balloon dev` has not run in the directory.
    func server() throws -> KnownServer {
        if let config = place.config {
            var configuration = try ConfigurationLoader.load(
                file: config, environment: ProcessEnvironment.variables(), for: .customer)
            configuration.dataDirectory = place.directory ?? configuration.dataDirectory
            return KnownServer(configuration)
        }
        let directory = try place.data
        // The file has no address until the first complete start of balloon dev.
        guard let server = try DevelopmentServer.read(in: directory), !server.server.isEmpty else {
            throw CommandFailure.noDevelopmentServer(path: DevelopmentServer.path(in: directory))
        }
        return KnownServer(server, directory: directory)
    }
}

/// The values that a command needs to post messages to a server as Apple does, and to read the replies.
struct KnownServer {
    /// The server's base URL; nil for a listener on a unix socket, or with TLS but without a public URL.
    let url: String?
    /// The base URL of the simulated gateway, if any.
    let gateway: String?
    /// The base URL of the identity provider of `balloon dev`, if any.
    let provider: String?
    /// The businesses, by slug.
    let businesses: [KnownBusiness]
    /// The server's configuration.
    let configuration: ServerConfiguration

    init(_ server: DevelopmentServer, directory: String) {
        url = server.server
        gateway = server.gateway
        provider = server.provider.isEmpty ? nil : server.provider
        businesses = server.businesses
        configuration = server.configuration(directory: directory)
    }

    init(_ configuration: ServerConfiguration) {
        // With TLS, use the public URL, because the certificate is not valid for the address of this machine.
        url = configuration.tls == nil ? configuration.listen.localURL : configuration.publicURL
        // A configuration may use plain http only for loopback addresses, and a gateway there is the
        // simulator.
        let base = configuration.gateway.url
        gateway = base.hasPrefix("http://") && base.hasSuffix("/v1") ? String(base.dropLast(3)) : nil
        provider = nil
        businesses = configuration.businesses.map(KnownBusiness.init)
        self.configuration = configuration
    }

    /// The business that `name` names by its slug, its identifier, or the beginning of either; without a name, the
    /// only business.
    ///
    /// Throws when no business matches, or several do.
    func business(_ name: String?) throws(CommandFailure) -> BusinessID {
        try KnownBusiness.choose(name, among: businesses).id
    }
}
