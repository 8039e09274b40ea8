import Logging
import RetentionClient
import RetentionMessages
import Synchronization

/// The apps of the configuration with the states of their messages; a reload replaces the apps.
final class RetentionApps: Sendable {
    private struct State {
        var apps: [String: AppConfiguration] = [:]
        var states: [String: [RetentionEnvironment: RetentionStates]] = [:]
    }

    private let state: Mutex<State>
    private let dataDirectory: String
    private let logger: Logger

    init(_ apps: [AppConfiguration], dataDirectory: String, logger: Logger) {
        state = Mutex(State())
        self.dataDirectory = dataDirectory
        self.logger = logger
        change(to: apps)
    }

    /// The app with this slug, and the states of its messages; nil for an unknown one.
    func app(
        _ slug: String, _ environment: RetentionEnvironment
    ) -> (app: AppConfiguration, states: RetentionStates)? {
        state.withLock { state in
            state.apps[slug].map { ($0, state.states[slug]?[environment] ?? RetentionStates()) }
        }
    }

    /// All apps.
    var all: [AppConfiguration] { state.withLock { Array($0.apps.values) } }

    /// Replaces the apps, and reads the states of their messages.
    func change(to apps: [AppConfiguration]) {
        state.withLock { $0.apps = Dictionary(apps.map { ($0.slug, $0) }) { first, _ in first } }
        readStates()
    }

    /// Reads the states that `balloon retention` wrote; the old ones stay when a file is unusable.
    func readStates() {
        for app in all {
            for environment in RetentionEnvironment.allCases {
                let path = RetentionStates.path(
                    dataDirectory: dataDirectory, slug: app.slug, environment)
                do throws(RetentionFileError) {
                    let states = try RetentionStates.read(path)
                    state.withLock { $0.states[app.slug, default: [:]][environment] = states }
                } catch {
                    logger.warning(
                        "states of retention messages not read; the old states stay in effect",
                        metadata: ["app": "\(app.slug)", "error": "\(error)"])
                }
            }
        }
    }
}
