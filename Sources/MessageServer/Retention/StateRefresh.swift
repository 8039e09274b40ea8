import BalloonPOSIX
import Logging
import RetentionClient
import RetentionMessages

/// Asks the App Store for the states of each app's messages, by default once an hour, and records them.
///
/// All apps are refreshed at the shortest interval of any app, except that apps whose `stateRefreshMinutes`
/// is 0 are skipped. After a failed call, the old states stay in effect. For each app and environment, the
/// log has the first failure and the next success.
struct StateRefresh: Sendable {
    /// Gets the current states from the App Store, and writes them to the file at the path.
    typealias Ask =
        @Sendable (AppConfiguration, RetentionEnvironment, _ statesPath: String) async throws -> Void

    private let apps: RetentionApps
    private let dataDirectory: String
    private let logger: Logger
    private let ask: Ask

    init(
        _ apps: RetentionApps, dataDirectory: String, logger: Logger, ask: @escaping Ask = Self.askAppStore
    ) {
        self.apps = apps
        self.dataDirectory = dataDirectory
        self.logger = logger
        self.ask = ask
    }

    /// Returns the wait before the next refresh; `random` is from 0 to 1.
    ///
    /// The first wait is 0 to 1 times the interval, and each later wait is 0.9 to 1.1 times the interval.
    /// Many servers that start together therefore do not ask at the same time.
    static func pause(_ interval: Duration, isFirst: Bool, random: Double) -> Duration {
        isFirst ? interval * random : interval * (0.9 + 0.2 * random)
    }

    /// Refreshes until the task is cancelled.
    func run() async {
        var isFirst = true
        var failing: Set<String> = []
        while !Task.isCancelled {
            // Without an app to refresh, check once an hour, because a reload may add one.
            let interval = apps.all.compactMap(\.refreshInterval).min() ?? .seconds(3600)
            let pause = Self.pause(interval, isFirst: isFirst, random: .random(in: 0...1))
            // The stop of the server cancels this sleep.
            try? await Task.sleep(for: pause)
            isFirst = false
            for app in apps.all where app.refreshInterval != nil {
                for environment in RetentionEnvironment.allCases where !Task.isCancelled {
                    await refresh(app, environment, &failing)
                }
            }
        }
    }

    /// Refreshes one app in one environment; `failing` is the set of pairs whose last refresh failed.
    func refresh(
        _ app: AppConfiguration, _ environment: RetentionEnvironment, _ failing: inout Set<String>
    ) async {
        let name = "\(app.slug)/\(environment.name)"
        let path = RetentionStates.path(dataDirectory: dataDirectory, slug: app.slug, environment)
        do {
            try await ask(app, environment, path)
            apps.readStates()
            if failing.remove(name) != nil {
                logger.notice(
                    "states of retention messages can be read from Apple again", metadata: ["app": "\(name)"])
            }
        } catch {
            let isNew = failing.insert(name).inserted
            logger.log(
                level: isNew ? .warning : .debug,
                "states of retention messages not refreshed; the old states stay in effect",
                metadata: ["app": "\(name)", "error": "\(error)"])
        }
    }

    private static let askAppStore: Ask = { app, environment, path in
        let api = try RetentionAPI(environment, app.identity, simulator: app.simulators[environment])
        _ = try await RetentionApplication(api, app.folder, statesPath: path).states()
    }
}
