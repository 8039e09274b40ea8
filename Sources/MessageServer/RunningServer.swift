import BalloonHTTP
package import BalloonPOSIX
import BalloonTLS
import BusinessMessages
import ConversationStore
import GatewayClient
package import HandlerKit
package import Logging
import Synchronization

/// A server that is put together, started and stopped in one order and its mirror.
package final class RunningServer: Sendable {
    private let configuration: ServerConfiguration
    private let store: ConversationStore
    private let registry: HandlerRegistry
    private let resolver: PayloadResolver
    private let deliveries: DeliveryPipeline
    private let http: HTTPServer
    private let tls: TLSCredentials?
    private let logger: Logger
    private let isDraining: DrainFlag
    private let work = Mutex<Task<Void, Never>?>(nil)

    /// Puts a server together: makes the handlers, opens the data directory and recovers what a crash left.
    ///
    /// Throws ``ConfigurationError`` when a handler is unknown or refuses its configuration, or the certificate and its
    /// key do not go together; and what the store throws.
    package init(
        configuration: ServerConfiguration, handlers: [any HandlerFactory], logger: Logger,
        observer: (any StageObserver)? = nil
    ) throws {
        let maximumOpenFiles = OpenFileLimit.raise()
        let observer = observer ?? LogObserver(logger)
        let isDraining = DrainFlag()
        let registry = HandlerRegistry(
            try BusinessHandler.make(configuration.businesses, handlers, configuration, logger))
        let tls = try configuration.tls?.credentials()
        var storeConfiguration = StoreConfiguration(directory: configuration.dataDirectory)
        // Most of the descriptors are for connections.
        storeConfiguration.maximumOpenConversations = min(max(128, maximumOpenFiles / 8), 4096)
        let store = try ConversationStore.open(storeConfiguration, logger: logger)
        let gateway = try GatewayClient(
            configuration: GatewayConfiguration(
                baseURL: configuration.gateway.url, mspID: configuration.mspID, secret: configuration.secret,
                downloadHosts: configuration.gateway.downloadHosts), logger: logger)
        self.configuration = configuration
        self.logger = logger
        self.isDraining = isDraining
        self.registry = registry
        self.store = store
        self.tls = tls
        resolver = PayloadResolver(store: store, gateway: gateway, observer: observer)
        deliveries = DeliveryPipeline(
            store: store, gateway: gateway, observer: observer, logger: logger)
        let webhook = WebhookRoute.make(
            configuration, businesses: registry.businesses, store: store, observer: observer)
        let health = HealthRoutes.make(store: store) { isDraining.isSet }
        http = try HTTPServer(
            listeners: [
                HTTPListener(
                    configuration.listen, routes: [webhook] + health, limits: configuration.http, tls: tls)
            ]
                + ControlRoutes.listeners(configuration.dataDirectory, store, health: health, logger),
            shards: configuration.limits.shards, logger: logger,
            describeRefusal: RefusedReads(observer).describe)
    }

    /// Starts: first the delivery of what an earlier life left, then the listener; returns its bound address.
    package func start() async throws -> [SocketAddress] {
        let (resolver, deliveries, registry) = (resolver, deliveries, registry)
        for business in registry.all { await business.start() }
        let task = Task {
            await withDiscardingTaskGroup { group in
                group.addTask { await resolver.run() }
                for business in registry.all { group.addTask { await deliveries.run(business) } }
            }
        }
        work.withLock { $0 = task }
        do {
            // The control socket is nobody's to connect to but the commands of this machine.
            return Array(try await http.start().prefix(1))
        } catch {
            await stop(within: .zero)
            throw error
        }
    }

    /// Reads again what may change while it serves: the certificate and its key, for the connections that come.
    ///
    /// What cannot be used is logged as an error and changes nothing. One call at a time.
    package func reload() async {
        guard let tls else { return }
        do {
            try tls.reload()
            logger.notice("certificate reloaded")
        } catch {
            logger.error("certificate not reloaded", metadata: ["reason": "\(error)"])
        }
    }

    /// Stops: no new connections, requests and deliveries under way may end within `grace`, then everything is synced.
    package func stop(within grace: Duration) async {
        isDraining.set()
        await http.stop(within: grace)
        // Lanes end when the store leases no more; what they have leased may still be brought to an end.
        store.stopLeasing()
        for business in registry.all { business.stopWaiting() }
        if let task = work.withLock({ $0 }) {
            let deadline = Task {
                // Cancelled when the deliveries have ended in time.
                guard (try? await Task.sleep(for: grace)) != nil else { return }
                task.cancel()
            }
            await task.value
            deadline.cancel()
        }
        await withDiscardingTaskGroup { group in
            for business in registry.all { group.addTask { await business.shutdown() } }
        }
        await store.close()
    }
}

/// Set once, when the server begins to drain.
final class DrainFlag: Sendable {
    private let flag = Atomic(false)

    var isSet: Bool { flag.load(ordering: .relaxed) }
    func set() { flag.store(true, ordering: .relaxed) }
}

/// Words the answers to requests that are refused while they are read: stage 1.
private final class RefusedReads: Sendable {
    private let observer: any StageObserver
    private let references = Mutex(ReferenceSequence())

    init(_ observer: any StageObserver) { self.observer = observer }

    @Sendable func describe(_ refusal: HTTPRefusal) -> [UInt8] {
        let reference = references.withLock { $0.next() }
        let result = StageEvent.Result.refused(status: refusal.status.code, reason: "\(refusal)")
        observer.observe(StageEvent(stage: .read, result: result, nanoseconds: 0, reference: reference.text))
        return Array("\(refusal.status.reason) (reference \(reference.text))\n".utf8)
    }
}
