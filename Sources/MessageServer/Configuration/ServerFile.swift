import BalloonHTTP
import BalloonJSON

/// The server's file before the environment overrides it.
struct ServerFile {
    /// The file's place in problem reports.
    let place: ConfigurationPlace
    private(set) var texts: [EnvironmentKey: Setting] = [:]
    private(set) var secret: SecretReference?
    private(set) var previousSecret: SecretReference?
    private(set) var tls: TLSReference?
    private(set) var downloadHosts: [Setting]?
    private(set) var agent: Setting?
    private(set) var giveUpAfterHours: Int?
    private(set) var attachments = AttachmentSettings()
    private(set) var store = StoreSettings()
    private(set) var limits = ServerLimits()
    private(set) var http = HTTPLimits()
    private(set) var api: APIReference?
    private(set) var drainDelay: Duration?
    var shutdownTime = Duration.seconds(25)
    private(set) var removedBusinessAge = Duration.seconds(7 * 86_400)
    private(set) var hasLandingPage = false
    /// Required keys that the file does not contain.
    private(set) var missing: [(name: String, key: EnvironmentKey)] = []

    static let keys =
        EnvironmentKey.allCases.compactMap(\.fileKey)
        + [
            "secret", "previousSecret", "tls", "gateway", "attachments", "store", "limits", "http",
            "shutdownSeconds",
            "drainDelaySeconds", "removedBusinessDays", "landing", "api",
        ]
    static let gatewayKeys = ["url", "downloadHosts", "agent", "giveUpAfterHours"]

    /// Represents a file that cannot be read, so that no further problems are reported for it.
    init(unreadable path: String) { place = .file(path) }

    /// Reads valid settings and reports invalid ones.
    init(_ root: JSONValue, file path: String, noting problems: inout [ConfigurationProblem]) {
        place = .file(path)
        var reader = ObjectReader(root, file: path, keys: Self.keys)
        for key in EnvironmentKey.allCases {
            if let name = key.fileKey { texts[key] = reader.text(name) }
        }
        missing = [("mspID", .mspID), ("secret", .secret)].filter {
            root.kind == .object && !reader.has($0.0)
        }
        secret = reader.object("secret", keys: SecretReference.keys, SecretReference.read)
        previousSecret = reader.object(
            "previousSecret", keys: SecretReference.keys, SecretReference.read)
        tls = reader.object("tls", keys: TLSReference.keys, TLSReference.read)
        if let gateway = reader.object(
            "gateway", keys: Self.gatewayKeys,
            {
                (
                    $0.text("url"), $0.texts("downloadHosts"), $0.text("agent"),
                    $0.integer("giveUpAfterHours", in: 1...720)
                )
            })
        {
            texts[.gatewayURL] = gateway.0
            downloadHosts = gateway.1
            agent = gateway.2
            giveUpAfterHours = gateway.3
        }
        attachments =
            reader.object("attachments", keys: AttachmentSettings.keys, AttachmentSettings.read)
            ?? attachments
        store = reader.object("store", keys: StoreSettings.keys, StoreSettings.read) ?? store
        limits = reader.object("limits", keys: ServerLimits.keys, ServerLimits.read) ?? limits
        http = reader.object("http", keys: HTTPLimits.keys, HTTPLimits.read) ?? http
        api = reader.object("api", keys: APIConfiguration.keys, APIConfiguration.read)
        reader.set(&shutdownTime, "shutdownSeconds", in: 1...3600)
        drainDelay = reader.integer("drainDelaySeconds", in: 0...300).map { .seconds($0) }
        if let days = reader.integer("removedBusinessDays", in: 1...3650) {
            removedBusinessAge = .seconds(days * 86_400)
        }
        hasLandingPage = reader.flag("landing") ?? false
        if http.maximumBufferedBytes < limits.maximumBodyBytes {
            reader.problem(
                "allows all requests together less memory than the body of one message",
                hint: "raise maximumBufferedBytes in \"http\", or lower maximumBodyBytes in \"limits\"")
        }
        if let perPeer = http.maximumBufferedBytesPerPeer, perPeer < limits.maximumBodyBytes {
            reader.problem(
                "allows one peer less memory than the body of one message",
                hint:
                    "raise maximumBufferedBytesPerPeer in \"http\" or set it to 0, or lower maximumBodyBytes")
        }
        problems += reader.problems
    }
}
