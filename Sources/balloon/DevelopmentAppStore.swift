import BalloonPOSIX
import BalloonTransport
import BalloonWire
import Logging
import MessageServer
import RetentionClient
import RetentionMessages
import Simulator
import Synchronization

/// The App Store of `balloon dev`, for the apps of its configuration.
///
/// Its root and its content are new at each start.
final class DevelopmentAppStore: Sendable {
    private struct Simulated {
        let app: AppConfiguration
        let environment: RetentionEnvironment
        let api: SimulatedRetentionAPI
        let url: String
    }

    private let store: SimulatedAppStore
    private let root: RootCertificate
    private let logger: Logger
    private let simulated = Mutex<[Simulated]>([])

    init(_ logger: Logger) throws(WireError) {
        store = try SimulatedAppStore(at: SystemClock.secondsSince1970())
        root = try RootCertificate(store.root)
        self.logger = logger
    }

    /// Starts the simulated API of each app, in both environments.
    func start(_ apps: [AppConfiguration]) async throws {
        for app in apps {
            let names = SimulatedRetentionAPI.App(
                bundleID: app.identity.bundleID, issuerID: app.identity.issuerID, keyID: app.identity.keyID,
                key: app.identity.key.publicKey)
            let sandbox = SimulatedRetentionAPI(names, .sandbox, logger: logger)
            let production = SimulatedRetentionAPI(names, .production, logger: logger, after: sandbox)
            for (environment, api) in [(RetentionEnvironment.sandbox, sandbox), (.production, production)] {
                let url = try await api.start()
                simulated.withLock {
                    $0.append(Simulated(app: app, environment: environment, api: api, url: url))
                }
            }
        }
    }

    /// Trusts the simulated root, and calls the simulated API instead of Apple's.
    func adjust(_ configuration: inout ServerConfiguration) {
        for index in configuration.apps.indices {
            configuration.apps[index].root = root
            let slug = configuration.apps[index].slug
            let urls = simulated.withLock { all in
                all.filter { $0.app.slug == slug }.map { ($0.environment, $0.url) }
            }
            configuration.apps[index].simulators = Dictionary(urls) { first, _ in first }
            // The states are those of the last apply: the simulated content is lost at each start.
            configuration.apps[index].refreshInterval = nil
        }
    }

    /// The apps with the addresses of their simulated API.
    var apps: [DevelopmentServer.App] {
        let all = simulated.withLock { $0 }
        return Dictionary(grouping: all) { $0.app.slug }.sorted { $0.key < $1.key }.map { slug, apis in
            DevelopmentServer.App(
                slug: slug,
                simulators: Dictionary(apis.map { ($0.environment, $0.url) }) { first, _ in first })
        }
    }

    /// Asks `server` from now on, and writes the root to `app-store-root.cer` for a server elsewhere.
    func ask(_ server: String, writingRootTo directory: String) throws {
        let all = simulated.withLock { $0 }
        guard !all.isEmpty else { return }
        try AtomicFile.write(store.root, to: directory + "/app-store-root.cer")
        let transport = try CurlTransport()
        for one in all {
            one.api.ask(
                by: RetentionQuestioner(
                    store, appleID: one.app.identity.appleID, one.environment,
                    url: "\(server)/retention/\(one.app.slug)/\(one.environment.name)", transport: transport))
        }
    }

    func stop() async {
        for one in simulated.withLock({ $0 }) { await one.api.stop() }
    }
}
