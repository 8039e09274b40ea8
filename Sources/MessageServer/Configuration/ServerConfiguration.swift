package import BalloonHTTP
package import BalloonPOSIX
package import BalloonWire
package import Payments
package import Replication

/// The complete configuration of one server, parsed into usable types.
///
/// ```json
/// {
///   "mspID": "1b2c3d4e-0000-4000-8000-000000000001",
///   "secret": { "file": "/run/secrets/msp" },
///   "publicURL": "https://messages.example.com",
///   "listen": "0.0.0.0:443",
///   "adminListen": "127.0.0.1:8081",
///   "inspectorListen": "off",
///   "tls": { "certificateFile": "/run/secrets/chain.pem", "keyFile": "/run/secrets/key.pem" },
///   "dataDirectory": "data",
///   "gateway": { "url": "https://mspgw.push.apple.com/v1", "downloadHosts": ["icloud-content.com"] },
///   "shutdownSeconds": 25,
///   "removedBusinessDays": 7,
///   "landing": false,
///   "attachments": { "retentionDays": 365 },
///   "store": { "deduplicationHours": 72 },
///   "limits": { "tokenAgeSeconds": 3600 },
///   "http": { "maximumConnectionsPerPeer": 100 },
///   "api": { "tokens": [] }
/// }
/// ```
///
/// Only `mspID` and `secret` are required.
package struct ServerConfiguration: Sendable {
    /// The MSP's identity: the audience of inbound tokens, the issuer of outbound ones.
    package var mspID: String
    /// The MSP's secret, which signs tokens in both directions.
    package var secret: Secret
    /// The MSP's previous secret, with which inbound tokens may still be signed after a change.
    package var previousSecret: Secret?
    /// This server's public URL, without a trailing slash.
    package var publicURL: String?
    /// The address for messages and health checks.
    package var listen = SocketAddress.tcp(host: "127.0.0.1", port: 8080)
    /// The address of the admin listener; in files the default is `127.0.0.1:8081`.
    package var adminListen = AdminAddress.off
    /// The listener of the inspector, which only reads in a production server; nil when it is off.
    ///
    /// JSON: `inspectorListen`.
    package var inspector: InspectorSettings?
    /// The TLS files of `listen` and `adminListen`; nil for plain HTTP, as behind a proxy.
    package var tls: TLSFiles?
    /// The directory of the journal and the conversations; relative to the working directory.
    package var dataDirectory = "data"
    /// The address of Apple's gateway.
    package var gateway = GatewayAddress()
    /// The settings for files that customers or handlers send.
    package var attachments = AttachmentSettings()
    /// The settings of the store.
    package var store = StoreSettings()
    /// The database that keeps the data directory's files; nil when the disk does; JSON: `postgres` in `store`.
    package var postgres: ReplicaSettings?
    /// The limits of sizes, counts and waits.
    package var limits = ServerLimits()
    /// The HTTP limits of `listen`.
    package var http = HTTPLimits()
    /// The settings of the business API.
    package var api = APIConfiguration()
    /// A folder from which the inbox's files are read for each request; not configurable in the file.
    package var webFolder: String?
    /// Whether automatic messages wait for their typing indicator; not configurable in the file.
    package var pausesReplies = true
    /// The retry schedule of failed deliveries; not configurable in the file.
    var retrySchedule = RetrySchedule()
    /// The waits of payments; not configurable in the file.
    package var paymentTimings = PaymentTimings()
    /// The time limit for stopping the server.
    package var shutdownTime = Duration.seconds(25)
    /// How long a stopping server keeps accepting connections while `/readyz` answers 503; JSON:
    /// `drainDelaySeconds`.
    ///
    /// It is a part of `shutdownTime`. Nil means `defaultDrainDelay` when a probe was seen in the last minute,
    /// and otherwise none.
    package var drainDelay: Duration?
    static let defaultDrainDelay = Duration.seconds(5)
    /// The sockets that a service manager opened; not configurable in the file.
    package var inheritedSockets = InheritedSockets()
    /// The time without a message after which a removed business's unfinished messages become dead letters.
    ///
    /// JSON: `removedBusinessDays`.
    package var removedBusinessAge = Duration.seconds(7 * 86_400)
    /// Whether the server has a landing page for brands that choose it; JSON: `landing`.
    package var hasLandingPage = false
    /// Problems that do not prevent a start.
    package var warnings: [ConfigurationProblem] = []
    /// The apps whose retention messages this server answers for, sorted by slug; from the folder `apps`.
    package var apps: [AppConfiguration] = []
    /// The businesses, sorted by slug, with unique slugs and identifiers.
    package var businesses: [BusinessConfiguration]

    /// Creates a configuration with the required values; the caller sets the optional ones afterwards.
    package init(mspID: String, secret: Secret, businesses: [BusinessConfiguration]) {
        self.mspID = mspID
        self.secret = secret
        self.businesses = businesses
    }
}
