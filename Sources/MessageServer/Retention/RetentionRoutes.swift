import BalloonHTTP
import BalloonPOSIX
import Logging
import MessageStore
import RetentionMessages

/// The routes that answer the App Store's questions, with their background tasks; exists only with an app.
final class RetentionRoutes: Sendable {
    private let apps: RetentionApps
    private let decisions: DecisionLog
    private let endpoint: RetentionEndpoint
    private let refresh: StateRefresh
    private let logger: Logger

    /// The maximum bytes of a question's body.
    static let maximumBodyBytes = 65_536
    /// The interval between two readings of the states that `balloon retention` writes.
    private static let lookInterval = Duration.seconds(2)
    private static let sweepInterval = Duration.seconds(3600)

    /// Creates the routes; nil without an app.
    init?(
        _ configured: [AppConfiguration], handlers: [String: RetentionResponder], dataDirectory: String,
        logger: Logger
    ) {
        guard !configured.isEmpty else { return nil }
        apps = RetentionApps(
            configured, handlers: handlers, dataDirectory: dataDirectory, logger: logger)
        decisions = DecisionLog(dataDirectory: dataDirectory, logger: logger)
        endpoint = RetentionEndpoint(apps, decisions: decisions, logger: logger)
        refresh = StateRefresh(apps, dataDirectory: dataDirectory, logger: logger)
        self.logger = logger
    }

    /// `POST /retention/SLUG/sandbox` and `POST /retention/SLUG/production`.
    var routes: [HTTPRoute] {
        RetentionEnvironment.allCases.map { environment in
            HTTPRoute(
                .post, "/retention/{slug}/\(environment.name)",
                body: .collected(maximumBytes: Self.maximumBodyBytes)
            ) { [endpoint] request, responder in
                let slug = request.parameter("slug") ?? ""
                // The buffer of the connection is reused, so the body is copied.
                let body = Array(request.body)[...]
                Task { @concurrent in
                    responder.respond(await endpoint.answer(body, slug: slug, environment))
                }
                return nil
            }
        }
    }

    /// The fingerprint of an app's handler; nil without one.
    func fingerprint(of slug: String) -> [UInt8]? { apps.fingerprint(of: slug) }

    /// Replaces the apps and starts the new handlers; the returned task ends when the old ones have ended.
    func change(
        to configured: [AppConfiguration], handlers: [String: RetentionResponder]
    ) -> Task<Void, Never> {
        let unused = apps.change(to: configured, handlers: handlers)
        for handler in handlers.values { handler.start() }
        return Task {
            await withDiscardingTaskGroup { group in
                for handler in unused { group.addTask { await handler.shutdown() } }
            }
        }
    }

    /// Ends the handlers, each within `time`.
    func shutdown(within time: Duration) async {
        await withDiscardingTaskGroup { group in
            for handler in apps.handlers { group.addTask { await handler.shutdown(within: time) } }
        }
    }

    /// Starts the handlers, and the tasks that record decisions, read states, and sweep.
    ///
    /// Each task has its own thread while it works.
    func begin() -> [Task<Void, Never>] {
        for handler in apps.handlers { handler.start() }
        return [
            Task(executorPreference: BlockingTaskExecutor()) { [decisions] in await decisions.run() },
            .repeating(every: Self.lookInterval) { [apps] in apps.readStates() },
            .repeating(every: Self.sweepInterval) { self.sweep() },
            Task(executorPreference: BlockingTaskExecutor()) { [refresh] in await refresh.run() },
        ]
    }

    /// Makes the task that records decisions end as soon as the queued decisions are written.
    func finish() { decisions.finish() }

    private func sweep() {
        let now = SteadyClock.forExpiry()
        for app in apps.all {
            do { try decisions.files.sweep(app.slug, keeping: app.decisionDays, at: now) } catch {
                logger.warning(
                    "could not delete old records of answers to the App Store; they are deleted later",
                    metadata: ["app": "\(app.slug)", "error": "\(error)"])
            }
        }
    }
}
