import BalloonPOSIX
import BalloonWire
import BusinessMessages
import MessageServer
import RetentionMessages

/// The content of `DATA/dev.json`, by which other commands find `balloon dev`.
///
/// The file has mode 0600, because it contains the secret.
///
/// ```json
/// {"format":1,"server":"http://127.0.0.1:8080","gateway":"http://127.0.0.1:40123","provider":"http://127.0.0.1:40124",
///  "mspID":"…","secret":"…","business":"demo","businessID":"…","businesses":[{"slug":"demo","businessID":"…"}]}
/// ```
///
/// The identity and the secret are created once; the addresses and the businesses are written at every start.
/// `business` and `businessID` name the first of them. Beside a configuration the demo's identity is in `demoID`. Until
/// the first start is complete, the file is named `dev.starting.json` and has no addresses.
struct DevelopmentServer: Equatable {
    /// An app whose App Store is simulated.
    struct App: Equatable {
        let slug: String
        /// The base URLs of the simulated Retention Messaging API, by environment.
        let simulators: [RetentionEnvironment: String]
    }

    /// The slug of the demo business.
    static let slug = "demo"

    /// The server's base URL.
    var server = ""
    /// The fake gateway's base URL.
    var gateway = ""
    /// The base URL of the identity provider; empty when an earlier version wrote the file.
    var provider = ""
    /// The MSP's identity.
    let mspID: String
    /// The MSP's secret.
    let secret: Secret
    /// The demo business's identity.
    let businessID: BusinessID
    /// The businesses of the last start: the demo, or those of a configuration.
    var businesses: [KnownBusiness] = []
    /// The apps of the last start's configuration.
    var apps: [App] = []

    /// The file's path in a data directory.
    static func path(in directory: String) -> String { directory + "/dev.json" }

    private static func pathAtFirstStart(in directory: String) -> String { directory + "/dev.starting.json" }

    /// Creates a server with a random identity and secret, and without addresses.
    static func random() -> DevelopmentServer {
        DevelopmentServer(
            mspID: MessageID.random().rawValue, secret: .random(byteCount: 32),
            businessID: BusinessID(MessageID.random().rawValue))
    }

    /// Reads the file in a data directory; nil when `balloon dev` never ran there.
    static func read(in directory: String) throws(CommandFailure) -> DevelopmentServer? {
        let names = [path(in: directory), pathAtFirstStart(in: directory)]
        guard let path = names.first(where: Directory.exists) else { return nil }
        let root = try CommandFile.json(path).root
        guard root["format"]?.int == 1, let server = root["server"]?.string,
            let gateway = root["gateway"]?.string, let mspID = root["mspID"]?.string,
            let secret = root["secret"]?.string.flatMap({ try? Secret(base64: $0) }),
            let businessID = (root["demoID"] ?? root["businessID"])?.string
        else { throw .malformed(path: path, reason: "was not written by balloon dev; remove it") }
        let businesses = root["businesses"]?.elements.compactMap { business -> KnownBusiness? in
            guard let slug = business["slug"]?.string, let id = business["businessID"]?.string else {
                return nil
            }
            return KnownBusiness(slug: slug, id: BusinessID(id))
        }
        return DevelopmentServer(
            server: server, gateway: gateway, provider: root["provider"]?.string ?? "", mspID: mspID,
            secret: secret, businessID: BusinessID(businessID),
            businesses: businesses ?? [KnownBusiness(slug: slug, id: BusinessID(businessID))],
            apps: root["apps"]?.elements.compactMap(App.init) ?? [])
    }

    /// The configuration of this server with the demo business; the caller sets the listening address.
    func configuration(directory: String, handler: HandlerBinding? = nil) -> ServerConfiguration {
        let business = BusinessConfiguration(
            slug: Self.slug, businessID: businessID, name: "Demo",
            handler: handler ?? .builtin(name: DemoHandlerFactory().name, configuration: nil))
        var configuration = ServerConfiguration(mspID: mspID, secret: secret, businesses: [business])
        adjust(&configuration, directory: directory)
        return configuration
    }

    /// Replaces a configuration's identity, secret, gateway and data directory by those of this server.
    ///
    /// Also removes the public URL and TLS, because the server listens for this machine only.
    func adjust(_ configuration: inout ServerConfiguration, directory: String) {
        configuration.mspID = mspID
        configuration.secret = secret
        configuration.publicURL = nil
        configuration.tls = nil
        configuration.dataDirectory = directory
        configuration.gateway.url = gateway + "/v1"
        configuration.gateway.downloadHosts = [String(gateway.dropFirst("http://".count))]
    }

    /// Writes this description as `dev.json` into a data directory and replaces an earlier file.
    ///
    /// A program may wait for the file, so a server without addresses is written under another name.
    func write(in directory: String) throws(SystemError) {
        let starting = Self.pathAtFirstStart(in: directory)
        let path = server.isEmpty ? starting : Self.path(in: directory)
        let json = JSONWriter.object(reservingCapacity: 512) { writer in
            writer.fields([
                "format": 1, "server": server, "gateway": gateway, "provider": provider, "mspID": mspID,
                "secret": Base64.encode(secret.bytes),
            ])
            let demo = server.isEmpty ? KnownBusiness(slug: Self.slug, id: businessID) : nil
            let first = businesses.first ?? demo
            writer.fields([
                "business": first?.slug, "businessID": first?.id.rawValue,
                "demoID": first?.id == businessID ? nil : businessID.rawValue,
                "businesses": businesses.map { JSONObject(["slug": $0.slug, "businessID": $0.id.rawValue]) },
            ])
            guard !apps.isEmpty else { return }
            writer.objects("apps", apps) { app, writer in
                writer.field("slug", app.slug)
                for environment in RetentionEnvironment.allCases {
                    writer.field(environment.name, app.simulators[environment])
                }
            }
        }
        try AtomicFile.write(json + [UInt8(ascii: "\n")], to: path)
        if path != starting, Directory.exists(starting) { try Directory.remove(starting) }
    }
}

extension DevelopmentServer.App {
    fileprivate init?(_ value: JSONValue) {
        guard let slug = value["slug"]?.string else { return nil }
        self.slug = slug
        var simulators: [RetentionEnvironment: String] = [:]
        for environment in RetentionEnvironment.allCases {
            simulators[environment] = value[environment.name]?.string
        }
        self.simulators = simulators
    }
}
