import BalloonHTTP
package import BalloonPOSIX
import BalloonTLS
import BusinessMessages
import GatewayClient
package import HandlerKit
package import Logging
package import MessageStore
package import Replication
import SignIn
import Synchronization

/// Composes a server from its configuration, starts it, and stops it in the reverse order.
package final class RunningServer: Sendable {
    let configuration: CurrentConfiguration
    let store: Store
    let registry: HandlerRegistry
    let making: HandlerBuilder
    let pipelines: Pipelines
    let signInFlow: SignInFlow
    let payments: PaymentServices
    /// The routes that answer the App Store's questions about retention messages; nil without an app.
    let retention: RetentionRoutes?
    /// The landing page; nil when it is off.
    private let onboarding: OnboardingRoutes?
    let retaining = Mutex<[Task<Void, Never>]>([])
    let sweep: AttachmentSweep
    let retentionSweep: RetentionSweep
    let sweeping = Mutex<[Task<Void, Never>]>([])
    let http: HTTPServer
    /// The admin listener, with shards of its own, so that operators' requests delay no webhook; nil when it is off.
    let admin: HTTPServer?
    /// The inspector's listener; nil when it is off.
    let inspector: Inspector?
    /// The levers of handlers: those of the inspector, or of a review; nil without either.
    let levers: HandlerLevers?
    private let connections: ListenerConnections
    let api: BusinessAPI
    let events: EventHub
    let tls: TLSCredentials?
    let owned: OwnedStore?
    let logger: Logger
    let isDraining = AtomicFlag()
    private let hasStarted = AtomicFlag()
    let labels: BusinessLabels
    let merchantCertificates = MerchantCertificates()
    let readinessWatch = ReadinessWatch()
    /// Whether the last reload of the configuration succeeded; set before the first.
    let isReloaded = AtomicFlag(true)
    let work = Mutex<Task<Void, Never>?>(nil)

    /// Composes a server: creates the handlers, opens the data directory and recovers from a crash.
    ///
    /// The journal and the conversations are written to `disk`; `lock` is the data directory's, if the caller holds
    /// it, and `owned` the store in PostgreSQL that keeps the directory. `recoveryDidAdvance` is called after each part
    /// of a recovery, from any thread. Throws a ``ConfigurationError`` when a handler is unknown or refuses its
    /// configuration, or when the certificate does not match its key. Also throws the store's errors.
    package init(
        configuration: ServerConfiguration, handlers: [any HandlerFactory], logger: Logger,
        observer: (any StageObserver)? = nil, inspector: Inspector? = nil, levers: HandlerLevers? = nil,
        lock: FileLock? = nil, owned: OwnedStore? = nil, disk: any StoreDisk = SystemDisk(),
        version: String = "unknown",
        commit: String = "unknown", logLevels: LogLevels? = nil,
        recoveryDidAdvance: @escaping @Sendable () -> Void = {}
    ) throws {
        let maximumOpenFiles = OpenFileLimit.raise()
        FreeMemory.returnLargeBlocks()
        FreeMemory.limitArenas()
        let logged = observer ?? LogObserver(logger)
        let labels = BusinessLabels(configuration.businesses)
        let stages = StageMetrics(labels, passingTo: logged)
        let observer = DeliveryWatch(passingTo: stages)
        let making = HandlerBuilder(factories: handlers, unasked: ProactiveMessages(), logger: logger)
        let registry = HandlerRegistry(try making.make(configuration))
        tls = try configuration.tls?.credentials()
        var storeConfiguration = configuration.store.configuration(
            directory: configuration.dataDirectory)
        storeConfiguration.lock = lock
        // Preallocated line feeds would be copied to the database.
        if owned != nil { storeConfiguration.preparedBytes = 0 }
        storeConfiguration.wasTakenOver = owned?.isTakenOver == true
        storeConfiguration.disk = disk
        storeConfiguration.recoveryDidAdvance = recoveryDidAdvance
        storeConfiguration.keepsIndex =
            !configuration.api.tokens.isEmpty || configuration.businesses.removeMessages
        // A quarter of the descriptors is for open conversations, because connections need most of the rest.
        storeConfiguration.maximumOpenConversations = min(max(128, maximumOpenFiles / 4), 16_384)
        let store = try Store.open(storeConfiguration, logger: logger)
        owned?.observe { [weak store] in store?.record(isOwner: $0) }
        let current = CurrentConfiguration(configuration)
        let signIns = SignInSettings(current)
        let signInClient = try SignInClient()
        let payments = try PaymentServices(
            current, store: store,
            handlers: HandlerPayments(registry, timings: configuration.paymentTimings), logger: logger)
        making.unasked.open(store, current, payments: payments.results)
        let listeners = ListenerConnections()
        let access = APIAccess(
            configuration.api, businesses: configuration.businesses, isSecure: tls != nil
        ) { listeners.adminAddress }
        events = EventHub(store, access, logger: logger)
        let levers = levers ?? inspector?.levers
        let pipelines = try Pipelines(
            current, store: store, signIns: signIns, signInClient: signInClient, payments: payments,
            inspector: inspector, levers: levers, events: events, observer: observer, logger: logger
        ) { registry[$0]?.wantsReplyFailures ?? false }
        self.configuration = current
        self.inspector = inspector
        self.levers = levers
        self.owned = owned
        self.logger = logger
        self.registry = registry
        self.making = making
        self.store = store
        self.pipelines = pipelines
        self.payments = payments
        retention = RetentionRoutes(
            configuration.apps, handlers: try making.makeForApps(configuration),
            dataDirectory: configuration.dataDirectory, logger: logger)
        onboarding =
            configuration.hasLandingPage
            ? OnboardingRoutes(dataDirectory: configuration.dataDirectory, logger: logger) : nil
        let audit = AuditLog(
            dataDirectory: configuration.dataDirectory, days: current.store.auditDays, logger: logger)
        let sweeper = RetentionSweep(
            store: store, configuration: current, audit: audit, logger: logger)
        retentionSweep = sweeper
        let uploads = UploadedFiles(dataDirectory: configuration.dataDirectory)
        sweep = AttachmentSweep(
            files: pipelines.deliveries.attachments.files, uploads: uploads,
            dataDirectory: configuration.dataDirectory, configuration: current, logger: logger)
        let webhook = WebhookRoute.make(
            current, isServed: { registry.contains($0) }, store: store, observer: observer)
        let sender = pipelines.sender
        let checks = ReadinessChecks(store: store) { [isDraining, hasStarted] facts in
            facts.phase = isDraining.isSet ? .draining : hasStarted.isSet ? .running : .starting
            facts.minimumFreeBytes = current.store.minimumFreeBytes
            facts.maximumPendingDeliveries = current.store.maximumPendingDeliveries
            facts.pauses = sender.pauses
            facts.unexplainedRefusals = sender.unexplainedRefusals
            facts.handlersDown = registry.downCount
        }
        let health = { [readinessWatch] (audience: HealthRoutes.Audience) in
            HealthRoutes.make(for: audience, checks: checks, watch: readinessWatch)
        }
        signInFlow = SignInFlow(
            requests: store.requests, settings: signIns, client: signInClient, logger: logger)
        let callbacks = SignInRoutes(
            flow: signInFlow,
            audit: SignInAudit(requests: store.requests, settings: signIns))
        let refusedReads = RefusedReads(observer)
        var scope = OperationScope(store, logger: logger)
        scope.running = RunningOperations(
            registry: registry, watch: pipelines.watch, sender: sender, levels: logLevels, logger: logger,
            version: version, checks: checks, payments: payments, connections: listeners,
            configuration: current)
        scope.isServed = { registry.contains($0) }
        scope.configureErasure = { [files = pipelines.deliveries.attachments.files] settings in
            settings.excludingPayments = { payments.excludingRecords($0) }
            settings.excludingContents = { files.excludingChanges($0) }
            settings.unrecordedContents = { files.heldContents }
        }
        scope.decideReversals = { try await payments.apply($0) }
        scope.forgetUploads = { [gateway = pipelines.gateway] in gateway.forgetUploads() }
        scope.trim = {
            // The trim reads and writes files, which must not block a thread of Swift's pool.
            try await withTaskExecutorPreference(BlockingTaskExecutor()) { try await sweeper.trim() }
        }
        http = try HTTPServer(
            listeners: [
                HTTPListener(
                    configuration.listen,
                    routes: [webhook] + callbacks.routes() + payments.routes.routes()
                        + (retention?.routes ?? []) + (onboarding?.routes ?? []) + health(.everybody),
                    limits: configuration.http, tls: tls,
                    inherited: configuration.inheritedSockets["public"],
                    describeRefusal: refusedReads.describe)
            ]
                + ControlRoutes.listeners(
                    configuration.dataDirectory, inherited: configuration.inheritedSockets["control"], scope,
                    audit: audit,
                    others: health(.operators { HostRule(.loopback) })
                        + [DeliveryRoute(store: store, registry: registry, watch: observer).route],
                    describeRefusal: RefusedReads(logged).describe),
            shards: configuration.limits.shards, logger: logger)
        api = BusinessAPI(
            access, cursors: APICursor(secret: configuration.secret, store: store.identity),
            numbers: RecordNumbers(key: store.recordKey, store: store.identity), audit: audit,
            logger: logger)
        let operations = APIOperations(
            store: store, files: ConversationFiles(dataDirectory: configuration.dataDirectory),
            attachments: pipelines.deliveries.attachments.files, registry: registry, watch: pipelines.watch,
            sender: sender, uploads: uploads,
            replies: SavedReplies(
                dataDirectory: configuration.dataDirectory, uploads: uploads, logger: logger),
            indicators: pipelines.typing, paymentResults: payments.results, events: events,
            dataDirectory: configuration.dataDirectory,
            maximumUploadBytes: { current.attachments.maximumBytes })
        connections = listeners
        self.labels = labels
        let metrics = MetricsRoute(
            version: version, commit: commit, stages: stages, labels: labels, store: store,
            owned: owned, registry: registry, pipelines: pipelines, payments: payments,
            signInFlow: signInFlow, connections: listeners, tls: tls,
            merchantCertificates: merchantCertificates, isReloaded: isReloaded)
        admin = try configuration.adminListen.socketAddress.map { [api, tls] address in
            let listener = HTTPListener(
                address,
                routes: health(.operators { api.access.hostRule })
                    + [metrics.route.forHosts({ api.access.hostRule }, hint: HealthRoutes.hostHint)]
                    + api.routes(operations.all)
                    + InboxRoutes(api: api, folder: configuration.webFolder).routes(),
                tls: tls, inherited: configuration.inheritedSockets["admin"],
                describeRefusal: api.describe)
            return try HTTPServer(listeners: [listener], shards: 1, logger: logger)
        }
        listeners.serve(with: http, admin: admin)
        applySettings()
    }

    /// The bound address of the admin listener; nil when there is none.
    package var adminAddress: SocketAddress? { connections.adminAddress }

    /// The checks of a ``Watchdog``: each shard of the listeners, and the journal's writer.
    package var progressChecks: [Watchdog.Check] {
        let servers = [("public", http)] + (adminAddress == nil ? [] : admin.map { [("admin", $0)] } ?? [])
        let shards = servers.flatMap { name, server in
            (0..<server.shardCount).map { shard in
                Watchdog.Check(name: "\(name) shard \(shard)") { server.check(shard: shard, $0) }
            }
        }
        return shards + [Watchdog.Check(name: "journal") { [store] in store.checkJournal($0) }]
    }

    /// Stores the messages that other servers took for the owner of a store in PostgreSQL; returns false when `isStopped` before.
    func readMessages(until isStopped: () -> Bool) async throws -> Bool {
        guard let owned else { return true }
        return try await owned.readMessages(into: TakenMessages(store: store), until: isStopped)
    }

    /// Binds the listeners, resumes pending deliveries, then serves; returns the bound addresses.
    package func start() async throws -> [SocketAddress] {
        do {
            // Before any handler starts: a server that cannot listen must not start handlers.
            let addresses = try await http.bind()
            // Set the address before replies are sent, because a queued sign-in contains the address of its
            // callback.
            if let address = addresses.first { configuration.use(listener: "http://\(address)") }
            try await bindAdmin()
        } catch {
            await http.stop(within: .zero)
            await store.close()
            throw error
        }
        let (configuration, pipelines, registry) = (configuration, pipelines, registry)
        let (events, payments) = (events, payments)
        let removed = RemovedBusinesses(
            store: store, dataDirectory: configuration.dataDirectory,
            age: configuration.removedBusinessAge, logger: logger, isServed: { registry.contains($0) })
        let recording = pipelines.recording
        store.startRecording { try recording.record($0) }
        sweep.removeUnfinished()
        registry.start()
        store.keepSuspects(of: { registry.contains($0) })
        let task = Task {
            await withDiscardingTaskGroup { group in
                group.addTask { await pipelines.resolver.run() }
                group.addTask { await pipelines.sender.run() }
                group.addTask { await removed.run() }
                group.addTask { await pipelines.watch.run() }
                group.addTask { await pipelines.typing.run() }
                group.addTask { await payments.run() }
                group.addTask { await events.run(healthOf: registry) }
                for await worker in registry.workers {
                    group.addTask { await pipelines.deliveries.run(worker) }
                }
            }
        }
        work.withLock { $0 = task }
        let figures = pipelines.watch.figures
        sweeping.withLock { [sweep, retentionSweep, onboarding] in
            $0 =
                [sweep.begin(), retentionSweep.begin()] + (onboarding.map { [$0.begin()] } ?? [])
                + [figures.begin()]
        }
        retaining.withLock { [retention] in $0 = retention?.begin() ?? [] }
        do {
            // Return only the address of the first listener: the second is the control socket for local
            // commands.
            let addresses = try await http.start().prefix(1)
            if adminAddress != nil { _ = try await admin?.start() }
            try await inspector?.start(store, registry, pipelines)
            hasStarted.isSet = true
            FreeMemory.unmapCode()
            return Array(addresses)
        } catch {
            await stop(within: shutdownTime, grace: .zero)
            throw error
        }
    }

    /// Binds the admin listener; a default address that cannot be bound is a warning.
    private func bindAdmin() async throws {
        do {
            connections.adminAddress = try await admin?.bind().first
        } catch {
            guard case .optional = configuration.adminListen else { throw error }
            logger.warning(
                "admin listener not started; set adminListen to a free address or to off",
                metadata: ["reason": "\(error)"])
        }
    }
}

/// The messages that other servers took for this one.
private struct TakenMessages: TakenMessageStore {
    let store: Store

    func read(_ content: [UInt8]) -> ReceivedMessage? { ReceivedMessage(record: content) }

    func isIncomplete(_ message: ReceivedMessage) -> Bool { message.hasPayloadReference }

    func refuses(_ message: ReceivedMessage) -> Bool { store.limit(of: message) != nil }

    func store(_ messages: [ReceivedMessage], completion: @escaping @Sendable (Bool) -> Void) {
        store.append(taken: messages) { result in
            if case .failed = result { completion(false) } else { completion(true) }
        }
    }
}
