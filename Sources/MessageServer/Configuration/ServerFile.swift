import BalloonHTTP
import BalloonJSON
import BalloonWire

/// The server's file before the environment overrides it.
struct ServerFile {
    /// The file's place in problem reports.
    let place: ConfigurationPlace
    /// The settings that no variable overrides; the identity, the secrets and the businesses are not in it.
    private(set) var settings = ServerConfiguration(
        mspID: "", secret: .random(byteCount: 32), businesses: [])
    private(set) var texts: [EnvironmentKey: Setting] = [:]
    private(set) var secret: SecretReference?
    private(set) var previousSecret: SecretReference?
    private(set) var tls: TLSReference?
    private(set) var downloadHosts: [Setting]?
    private(set) var agent: Setting?
    private(set) var api: APIReference?
    /// Required keys that the file does not contain.
    private(set) var missing: [(name: String, key: EnvironmentKey)] = []

    /// Represents a file that cannot be read, so that no further problems are reported for it.
    init(unreadable path: String) { place = .file(path) }

    /// Reads valid settings and reports invalid ones.
    init(_ root: JSONValue, file path: String, noting problems: inout [ConfigurationProblem]) {
        place = .file(path)
        ObjectReader.read(root, file: path, noting: &problems) { reader in
            for key in EnvironmentKey.allCases {
                if let name = key.fileKey { texts[key] = reader.text(name) }
            }
            missing = [("mspID", .mspID), ("secret", .secret)].filter {
                root.kind == .object && !reader.has($0.0)
            }
            read(&reader)
        }
    }

    private mutating func read(_ reader: inout ObjectReader) {
        secret = reader.object("secret", SecretReference.read)
        previousSecret = reader.object("previousSecret", SecretReference.read)
        tls = reader.object("tls", TLSReference.read)
        reader.object("gateway") { reader in
            texts[.gatewayURL] = reader.text("url")
            downloadHosts = reader.texts("downloadHosts")
            agent = reader.text("agent")
            reader.set(
                &settings.gateway.replyLifetime, "giveUpAfterHours", in: 1...720, of: .seconds(3600))
        }
        settings.attachments = reader.object("attachments", AttachmentSettings.read) ?? settings.attachments
        settings.store = reader.object("store", StoreSettings.read) ?? settings.store
        settings.limits = reader.object("limits", ServerLimits.read) ?? settings.limits
        settings.http = reader.object("http", HTTPLimits.read) ?? settings.http
        reader.set(&settings.shutdownTime, "shutdownSeconds", in: 1...3600)
        settings.drainDelay = reader.integer("drainDelaySeconds", in: 0...300).map { .seconds($0) }
        reader.set(
            &settings.removedBusinessAge, "removedBusinessDays", in: 1...3650, of: .seconds(86_400))
        settings.hasLandingPage = reader.flag("landing") ?? false
        api = reader.object("api", APIConfiguration.read)
        if let api { settings.api = api.settings }
        if settings.http.maximumBufferedBytes < settings.limits.maximumBodyBytes {
            reader.problem(
                "allows all requests together less memory than the body of one message",
                hint: "raise maximumBufferedBytes in \"http\", or lower maximumBodyBytes in \"limits\"")
        }
        if let perPeer = settings.http.maximumBufferedBytesPerPeer, perPeer < settings.limits.maximumBodyBytes
        {
            reader.problem(
                "allows one peer less memory than the body of one message",
                hint:
                    "raise maximumBufferedBytesPerPeer in \"http\" or set it to 0, or lower maximumBodyBytes")
        }
    }
}
