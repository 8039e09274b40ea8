import BalloonHTTP
import BalloonPOSIX
import BalloonTLS
import BusinessMessages
import GatewayClient
import Logging
import MessageStore
import Replication

/// A server that waits until it may serve.
///
/// While it waits, its public listener answers `/livez` with 200 and every other request with 503, so that a proxy sends its
/// requests to the other server. With a store in PostgreSQL it takes messages for the owner: see ``/Replication/Intake``.
final class Standby {
    private let configuration: CurrentConfiguration
    private let source: ConfigurationSource?
    private let hasChanged: AtomicFlag
    private let observer: any StageObserver
    private let logger: Logger
    private var listener: HTTPServer?
    private var gateway: GatewayClient?
    private var tls: TLSCredentials?

    /// Waits with this configuration, which is read again from `source` while it waits when `hasChanged` is set.
    init(
        _ configuration: ServerConfiguration, source: ConfigurationSource?, hasChanged: AtomicFlag,
        observer: any StageObserver, logger: Logger
    ) {
        self.configuration = CurrentConfiguration(configuration)
        (self.source, self.hasChanged) = (source, hasChanged)
        (self.observer, self.logger) = (observer, logger)
    }

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
        let intake = Intake(settings, logger: logger)
        var failures = 0
        return try await wait(Replica.interval, taking: intake, until: isStopped, waits) {
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

    /// Repeats `attempt` until it returns a value, and answers requests meanwhile.
    private func wait<Right>(
        _ interval: Duration, taking intake: Intake? = nil, until isStopped: () -> Bool, _ waits: () -> Void,
        for attempt: () async throws -> Right?
    ) async throws -> Right? {
        if let right = try await attempt() { return right }
        try await listen(intake)
        var right: Right?
        while right == nil, !isStopped(), !Task.isCancelled {
            waits()
            try? await Task.sleep(for: interval)
            if hasChanged.isSet { await apply(latest()) }
            do { right = try await attempt() } catch {
                await end()
                throw error
            }
        }
        if right != nil { logger.notice("the standby starts") } else { await end() }
        return right
    }

    /// Ends the listener, so that the server can bind its address.
    ///
    /// A message that waits has its answer soon, because this server reads it. When the server is stopped instead, the sender sees its
    /// connection end, and tries another server.
    func end() async {
        await listener?.stop(within: .seconds(3))
        (listener, gateway, tls) = (nil, nil, nil)
    }

    private func apply(_ new: ServerConfiguration) async {
        configuration.replace(with: new)
        gateway?.apply(GatewayConfiguration(configuration.value))
        await listener?.apply(configuration.http, toListener: 0)
        do throws(TLSError) { try tls?.reload() } catch {
            logger.error("the standby keeps its earlier certificate", metadata: ["reason": "\(error)"])
        }
    }

    /// Returns the configuration of the source as it is now; the last one without errors, after a log line, when it has some.
    func latest() -> ServerConfiguration {
        hasChanged.isSet = false
        do throws(ConfigurationError) { return try source?.load() ?? configuration.value } catch {
            logger.error(
                "the standby keeps its earlier configuration: the present one has errors",
                metadata: ["reason": "\(error)"])
            return configuration.value
        }
    }

    /// Starts the public listener with the answers of a standby; does nothing when a service manager opened its socket,
    /// whose connections are for the other server.
    private func listen(_ intake: Intake?) async throws {
        guard configuration.inheritedSockets["public"] == nil else { return }
        // A server that waited for the directory before has a listener already.
        await end()
        let refusal = HTTPResponse(
            .serviceUnavailable, body: Array("standby\n".utf8), fields: [("Retry-After", "1")])
        let others = [HTTPMethod.get, .post].map { method in
            HTTPRoute(method, "/*", body: .collected(maximumBytes: .max)) { _ in
                HTTPRoute.Handlers(admit: { _ in .refused(refusal) }) { _, _ in refusal }
            }
        }
        let webhook = try intake.map(webhook)
        tls = try configuration.tls?.credentials()
        let server = try HTTPServer(
            listeners: [
                HTTPListener(
                    configuration.listen,
                    routes: [HTTPRoute(.get, "/livez") { _, _ in HTTPResponse(.ok, text: "ok\n") }]
                        + (webhook.map { [$0] } ?? []) + others,
                    limits: configuration.http, tls: tls)
            ], shards: 1, logger: logger)
        let addresses = try await server.start()
        listener = server
        logger.notice(
            "another server has the store; waiting as its standby",
            metadata: ["address": "\(addresses[0])"])
    }

    /// The webhook of a server that takes messages for the owner.
    private func webhook(_ intake: Intake) throws -> HTTPRoute {
        let gateway = try GatewayClient(
            configuration: GatewayConfiguration(configuration.value), logger: logger)
        self.gateway = gateway
        let fetcher = PayloadFetcher(gateway, logger: logger)
        // A business that the owner's configuration may have already is not unknown.
        let refusal = { @Sendable [configuration] (business: BusinessID) -> InboundRefusal? in
            configuration[business] == nil ? .unknownToStandby : nil
        }
        return WebhookRoute.make(configuration, refusal: refusal, observer: observer) {
            message, completion in
            let fetch: Intake.Fetch = {
                await fetcher.fetch(
                    message.message, message.id, of: message.business, receivedAt: message.receivedAt
                ).flatMap(message.resolved)?.record
            }
            intake.keep(message.record, fetch: message.hasPayloadReference ? fetch : nil) { isKept in
                completion(isKept ? .stored : .failed(.notDurable(.notKept)))
            }
        }
    }
}
