import BalloonHTTP
import BalloonPOSIX
import Logging
import MessageStore
import Replication

/// A server that waits until it may serve.
///
/// While it waits, its public listener answers `/livez` with 200 and every other request with 503, so that a proxy sends its
/// requests to the other server.
struct Standby {
    let configuration: ServerConfiguration
    let logger: Logger

    /// The interval at which the lock is tried.
    private static let interval = Duration.milliseconds(100)

    /// Waits until no other process has the data directory open; no file of it is opened but `lock`.
    ///
    /// Returns nil when `isStopped` returns true or the task is cancelled. `waits` is called at each attempt. Throws a
    /// ``StoreError`` when the directory cannot be locked, and a `SystemError` when the address is in use.
    func waitForLock(until isStopped: () -> Bool, _ waits: () -> Void) async throws -> FileLock? {
        try await wait(Self.interval, until: isStopped, waits) {
            try Store.lockDirectory(configuration.dataDirectory)
        }
    }

    /// Follows the owner of a store in PostgreSQL until this server is the owner; the caller holds the directory's lock.
    ///
    /// Returns nil and throws as ``waitForLock(until:_:)``, and throws a `ReplicaError` when the store cannot be joined.
    func waitForStore(
        _ settings: ReplicaSettings, until isStopped: () -> Bool, _ waits: () -> Void
    ) async throws -> OwnedStore? {
        let replica = try Replica(settings, directory: configuration.dataDirectory, logger: logger)
        var failures = 0
        return try await wait(Replica.interval, until: isStopped, waits) {
            do {
                let owned = try await replica.step()
                failures = 0
                return owned
            } catch ReplicaError.unreachable(let reason) {
                if failures % 100 == 0 {
                    logger.error("the store's database cannot be used", metadata: ["reason": "\(reason)"])
                }
                failures += 1
                return nil
            }
        }
    }

    /// Repeats `attempt` until it returns a value, and answers health checks meanwhile.
    private func wait<Right>(
        _ interval: Duration, until isStopped: () -> Bool, _ waits: () -> Void,
        for attempt: () async throws -> Right?
    ) async throws -> Right? {
        if let right = try await attempt() { return right }
        let health = try await answerHealthChecks()
        var right: Right?
        while right == nil, !isStopped(), !Task.isCancelled {
            waits()
            try? await Task.sleep(for: interval)
            do { right = try await attempt() } catch {
                await health?.stop(within: .zero)
                throw error
            }
        }
        await health?.stop(within: .zero)
        if right != nil { logger.notice("the standby starts") }
        return right
    }

    /// Returns the configuration of the source as it is now; the present one, after a log line, when it has errors.
    func latest(_ source: ConfigurationSource?) -> ServerConfiguration {
        do throws(ConfigurationError) { return try source?.load() ?? configuration } catch {
            logger.error(
                "the standby starts with its earlier configuration: the present one has errors",
                metadata: ["reason": "\(error)"])
            return configuration
        }
    }

    /// Starts the public listener with the answers of a standby; nil when a service manager opened its socket, whose
    /// connections are for the other server.
    private func answerHealthChecks() async throws -> HTTPServer? {
        guard configuration.inheritedSockets["public"] == nil else { return nil }
        let refusal = HTTPResponse(
            .serviceUnavailable, body: Array("standby\n".utf8), fields: [("Retry-After", "1")])
        let others = [HTTPMethod.get, .post].map { method in
            HTTPRoute(method, "/*", body: .collected(maximumBytes: .max)) { _ in
                HTTPRoute.Handlers(admit: { _ in .refused(refusal) }) { _, _ in refusal }
            }
        }
        let server = try HTTPServer(
            listeners: [
                HTTPListener(
                    configuration.listen,
                    routes: [HTTPRoute(.get, "/livez") { _, _ in HTTPResponse(.ok, text: "ok\n") }] + others,
                    limits: configuration.http, tls: try configuration.tls?.credentials())
            ], shards: 1, logger: logger)
        let addresses = try await server.start()
        logger.notice(
            "another server has the store; waiting as its standby",
            metadata: ["address": "\(addresses[0])"])
        return server
    }
}
