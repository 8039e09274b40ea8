import Logging
import RetentionClient
import RetentionMessages
import Synchronization

/// The apps of the configuration with the states of their messages; a reload replaces the apps.
final class RetentionApps: Sendable {
    /// An app with the states of its messages and its handler.
    struct Served: Sendable {
        let app: AppConfiguration
        let states: RetentionStates
        let handler: RetentionResponder?
    }

    private struct State {
        var handlers: [String: RetentionResponder] = [:]
        var apps: [String: AppConfiguration] = [:]
        var states: [String: [RetentionEnvironment: RetentionStates]] = [:]
        /// The last failure to read each file, so that the same failure is logged only once.
        var failures: [String: RetentionFileError] = [:]
    }

    private let state: Mutex<State>
    private let dataDirectory: String
    private let logger: Logger

    init(
        _ apps: [AppConfiguration], handlers: [String: RetentionResponder] = [:], dataDirectory: String,
        logger: Logger
    ) {
        state = Mutex(State())
        self.dataDirectory = dataDirectory
        self.logger = logger
        _ = change(to: apps, handlers: handlers)
    }

    /// The app with this slug; nil for an unknown one.
    func app(_ slug: String, _ environment: RetentionEnvironment) -> Served? {
        state.withLock { state in
            state.apps[slug].map {
                Served(
                    app: $0, states: state.states[slug]?[environment] ?? RetentionStates(),
                    handler: state.handlers[slug])
            }
        }
    }

    /// All apps.
    var all: [AppConfiguration] { state.withLock { Array($0.apps.values) } }

    /// The handlers of all apps.
    var handlers: [RetentionResponder] { state.withLock { Array($0.handlers.values) } }

    /// The fingerprint of an app's handler; nil without one.
    func fingerprint(of slug: String) -> [UInt8]? { state.withLock { $0.handlers[slug]?.fingerprint } }

    /// Replaces the apps, and reads the states of their messages; returns the handlers that are no longer
    /// used.
    ///
    /// An app that still has a handler but is not in `handlers` keeps its old handler.
    func change(to apps: [AppConfiguration], handlers: [String: RetentionResponder]) -> [RetentionResponder] {
        let unused = state.withLock { state in
            state.apps = Dictionary(apps.map { ($0.slug, $0) }) { first, _ in first }
            var unused: [RetentionResponder] = []
            for (slug, old) in state.handlers
            where handlers[slug] != nil || state.apps[slug]?.handler == nil {
                unused.append(old)
                state.handlers[slug] = nil
            }
            state.handlers.merge(handlers) { $1 }
            return unused
        }
        readStates()
        return unused
    }

    /// Reads the states that `balloon retention` wrote; the last known states stay in effect when a file is
    /// unusable.
    func readStates() {
        for app in all {
            for environment in RetentionEnvironment.allCases {
                let path = RetentionStates.path(
                    dataDirectory: dataDirectory, slug: app.slug, environment)
                do throws(RetentionFileError) {
                    let states = try RetentionStates.read(path)
                    state.withLock { state in
                        state.states[app.slug, default: [:]][environment] = states
                        state.failures[path] = nil
                    }
                } catch {
                    guard state.withLock({ $0.failures.updateValue(error, forKey: path) }) != error else {
                        continue
                    }
                    logger.warning(
                        "states of retention messages could not be read from Apple; the last known states stay in effect",
                        metadata: ["app": "\(app.slug)", "error": "\(error)"])
                }
            }
        }
    }
}
