package import BalloonHTTP
package import BalloonPOSIX
package import BalloonWire

/// Everything that one server is told before it starts, parsed into the form in which it is used.
///
/// ```json
/// {
///   "mspID": "1b2c3d4e-0000-4000-8000-000000000001",
///   "secret": { "file": "/run/secrets/msp" },
///   "publicURL": "https://messages.example.com",
///   "listen": "0.0.0.0:443",
///   "tls": { "certificateFile": "/run/secrets/chain.pem", "keyFile": "/run/secrets/key.pem" },
///   "dataDirectory": "data",
///   "gateway": { "url": "https://mspgw.push.apple.com/v1", "downloadHosts": ["icloud-content.com"] },
///   "shutdownSeconds": 25,
///   "removedBusinessDays": 7,
///   "attachments": { "retentionDays": 365 },
///   "store": { "deduplicationHours": 72 },
///   "limits": { "tokenAgeSeconds": 3600 },
///   "http": { "maximumConnectionsPerPeer": 100 }
/// }
/// ```
///
/// Only `mspID` and `secret` must be there.
package struct ServerConfiguration: Sendable {
    /// The MSP's identity: the audience of tokens that come in, the issuer of those that go out.
    package var mspID: String
    /// The MSP's secret, which signs tokens in both directions.
    package var secret: Secret
    /// This server's address as Apple and browsers see it, without a slash at its end.
    package var publicURL: String?
    /// Where messages and health checks are taken.
    package var listen = SocketAddress.tcp(host: "127.0.0.1", port: 8080)
    /// With what `listen` speaks TLS; nil for plain HTTP, as behind a proxy.
    package var tls: TLSFiles?
    /// Where the journal and the conversations are kept; relative to the working directory.
    package var dataDirectory = "data"
    /// Apple's side.
    package var gateway = GatewayAddress()
    /// Files that come and go with messages.
    package var attachments = AttachmentSettings()
    /// What the store keeps in memory, and for how long it knows a message again.
    package var store = StoreSettings()
    /// The bounds on sizes, counts and waits.
    package var limits = ServerLimits()
    /// What `listen` takes from its clients.
    package var http = HTTPLimits()
    /// When a delivery that failed is tried again; no key of the file.
    var retrySchedule = RetrySchedule()
    /// How long the server may take to stop.
    package var shutdownTime = Duration.seconds(25)
    /// How old the latest message of a removed business is when its unfinished messages become dead letters; JSON:
    /// `removedBusinessDays`.
    package var removedBusinessAge = Duration.seconds(7 * 86_400)
    /// The businesses, sorted by slug; their slugs and identifiers are all different.
    package var businesses: [BusinessConfiguration]

    /// The keys whose values differ in `other`, and which are read only when the server starts.
    func settingsThatNeedRestart(comparedTo other: ServerConfiguration) -> [String] {
        let handled = limits.withHandlers(of: other.limits)
        let same: [(String, Bool)] = [
            ("mspID", mspID == other.mspID), ("secret", secret == other.secret),
            ("publicURL", publicURL == other.publicURL), ("listen", listen == other.listen),
            ("tls", tls == other.tls), ("dataDirectory", dataDirectory == other.dataDirectory),
            (
                "gateway",
                gateway == other.gateway
            ),
            ("attachments", attachments == other.attachments), ("store", store == other.store),
            ("limits", handled == other.limits), ("http", http == other.http),
            ("shutdownSeconds", shutdownTime == other.shutdownTime),
            ("removedBusinessDays", removedBusinessAge == other.removedBusinessAge),
        ]
        return same.filter { !$0.1 }.map(\.0)
    }

    /// Takes what has no default; the rest is set afterwards.
    package init(mspID: String, secret: Secret, businesses: [BusinessConfiguration]) {
        self.mspID = mspID
        self.secret = secret
        self.businesses = businesses
    }
}
