package import BalloonWire
package import RetentionClient
package import RetentionMessages

/// One app of the folder `apps`: its identity at the App Store, and the content of the folder beside its
/// file.
///
/// `config/apps/SLUG.json`:
///
/// ```json
/// {
///   "bundleID": "com.example.app", "appleID": 1234567890,
///   "issuerID": "11111111-2222-3333-4444-555555555555", "keyID": "ABC1234567", "keyFile": "/run/secrets/iap.p8",
///   "noAnswer": "empty", "decisionDays": 30,
///   "handler": { "exec": ["./loyalty.py"] }, "budgetMilliseconds": 450, "concurrency": 16,
///   "stateRefreshMinutes": 60
/// }
/// ```
///
/// The keys after `keyFile` may be missing, and so may `rootFile`, which replaces Apple Root CA - G3.
package struct AppConfiguration: Sendable {
    /// The answer when no rule matches; in both cases the App Store shows the default message.
    package enum NoAnswer: String, Sendable, CaseIterable {
        /// 200 with an empty object.
        case empty
        /// The status 503.
        case unavailable = "503"
    }

    /// The name of the file without `.json`.
    package let slug: String
    /// The app and its key.
    package let identity: AppIdentity
    /// The root certificate in which the App Store's certificate chains must end; a simulation uses another
    /// one.
    package var root: RootCertificate
    /// The content of the folder beside the file.
    package let folder: RetentionFolder
    /// The handler that chooses answers before the rule file; nil without one.
    package var handler: HandlerBinding?
    /// The folder of the file, to which paths of the handler are relative.
    package var directory = ""
    /// The time for an answer of the handler, from the arrival of the question; JSON: `budgetMilliseconds`.
    package var budget = Duration.milliseconds(450)
    /// The maximum number of concurrent questions to the handler; the rule file answers further ones.
    package var concurrency = 16
    /// The time between two requests to the App Store for the states of messages; nil disables these
    /// requests.
    ///
    /// JSON: `stateRefreshMinutes`, in which 0 disables them.
    package var refreshInterval: Duration? = .seconds(3600)
    /// The addresses of simulators instead of Apple's; not configurable in the file.
    package var simulators: [RetentionEnvironment: String] = [:]
    /// The answer without a matching rule.
    package var noAnswer = NoAnswer.empty
    /// The days for which decisions are kept.
    package var decisionDays = 30
    /// The path of the key.
    package var keyFile = ""

    /// Creates an app.
    package init(slug: String, identity: AppIdentity, root: RootCertificate, folder: RetentionFolder) {
        self.slug = slug
        self.identity = identity
        self.root = root
        self.folder = folder
    }
}
