import BalloonHTTP
import BalloonPOSIX
import Logging
import MessageStore

/// A server that waits until no other process has its data directory open.
///
/// While it waits, it opens no file of the directory but `lock`, and its public listener answers `/livez` with 200 and
/// every other request with 503, so that a proxy sends its requests to the other server.
struct Standby {
    let configuration: ServerConfiguration
    let logger: Logger

    /// The interval at which the lock is tried.
    private static let interval = Duration.milliseconds(100)

    /// Waits for the lock of the data directory; returns nil when `isStopped` returns true or the task is cancelled.
    ///
    /// `waits` is called at each attempt. Throws a ``StoreError`` when the directory cannot be locked, and a
    /// `SystemError` when the address is in use.
    func wait(until isStopped: () -> Bool, _ waits: () -> Void) async throws -> FileLock? {
        if let lock = try Store.lockDirectory(configuration.dataDirectory) { return lock }
        let health = try await answerHealthChecks()
        var lock: FileLock?
        while lock == nil, !isStopped(), !Task.isCancelled {
            waits()
            try? await Task.sleep(for: Self.interval)
            lock = try Store.lockDirectory(configuration.dataDirectory)
        }
        await health?.stop(within: .zero)
        if lock != nil { logger.notice("the data directory is free; the standby starts") }
        return lock
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
            "another process has the data directory; waiting as its standby",
            metadata: ["address": "\(addresses[0])"])
        return server
    }
}
