import BalloonHTTP
package import BalloonPOSIX
import BalloonTLS
import BusinessMessages
import GatewayClient
package import HandlerKit
package import Logging
package import MessageStore
import SignIn
import Synchronization

/// Composes a server from its configuration, starts it, and stops it in the reverse order.
package final class RunningServer: Sendable {
    let configuration: CurrentConfiguration
    let store: Store
    let registry: HandlerRegistry
    private let making: HandlerBuilder
    let pipelines: Pipelines
    private let signInFlow: SignInFlow
    private let payments: PaymentServices
    /// The routes that answer the App Store's questions about retention messages; nil without an app.
    private let retention: RetentionRoutes?
    /// The landing page; nil when it is off.
    private let onboarding: OnboardingRoutes?
    private let retaining = Mutex<[Task<Void, Never>]>([])
    let sweep: AttachmentSweep
    let retentionSweep: RetentionSweep
    private let sweeping = Mutex<[Task<Void, Never>]>([])
    let http: HTTPServer
    /// The admin listener, with shards of its own, so that operators' requests delay no webhook; nil when it is off.
    private let admin: HTTPServer?
    /// The inspector's listener; nil when it is off.
    private let inspector: Inspector?
    private let boundAdmin: BoundAddress
    private let api: BusinessAPI
    private let events: EventHub
    private let typing: TypingIndicators
    private let tls: TLSCredentials?
    private let logger: Logger
    private let isDraining: DrainFlag
    private let hasStarted: DrainFlag
    private let labels: BusinessLabels
    private let merchantCertificates: MerchantCertificates
    private let readinessWatch: ReadinessWatch
    private let reloads = ReloadResult()
    private let work = Mutex<Task<Void, Never>?>(nil)

    /// Composes a server: creates the handlers, opens the data directory and recovers from a crash.
    ///
    /// The journal and the conversations are written to `disk`. `recoveryDidAdvance` is called after each
    /// part of a recovery, from any thread. Throws a ``ConfigurationError`` when a handler is unknown or
    /// refuses its configuration, or when the certificate does not match its key. Also throws the store's
    /// errors.
    package init(
        configuration: ServerConfiguration, handlers: [any HandlerFactory], logger: Logger,
        observer: (any StageObserver)? = nil, inspector: Inspector? = nil,
        disk: any StoreDisk = SystemDisk(), version: String = "unknown",
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
        let (isDraining, hasStarted) = (DrainFlag(), DrainFlag())
        let making = HandlerBuilder(factories: handlers, unasked: ProactiveMessages(), logger: logger)
        let registry = HandlerRegistry(try making.make(configuration))
        let tls = try configuration.tls?.credentials()
        var storeConfiguration = configuration.store.configuration(
            directory: configuration.dataDirectory)
        storeConfiguration.disk = disk
        storeConfiguration.recoveryDidAdvance = recoveryDidAdvance
        storeConfiguration.keepsIndex =
            !configuration.api.tokens.isEmpty || configuration.businesses.removeMessages
        // A quarter of the descriptors is for open conversations, because connections need most of the rest.
        storeConfiguration.maximumOpenConversations = min(max(128, maximumOpenFiles / 4), 16_384)
        let store = try Store.open(storeConfiguration, logger: logger)
        let current = CurrentConfiguration(configuration)
        let signIns = SignInSettings(current)
        let signInClient = try SignInClient()
        let payments = try PaymentServices(
            current, store: store,
            handlers: HandlerPayments(registry, timings: configuration.paymentTimings), logger: logger)
        making.unasked.open(store, signIns: signIns, payments: payments.results)
        let pipelines = try Pipelines(
            current, store: store, signIns: signIns, signInClient: signInClient, payments: payments,
            inspector: inspector, observer: observer, logger: logger
        ) { registry[$0]?.wantsReplyFailures ?? false }
        self.configuration = current
        self.inspector = inspector
        self.logger = logger
        self.isDraining = isDraining
        self.hasStarted = hasStarted
        self.registry = registry
        self.making = making
        self.store = store
        self.tls = tls
        self.pipelines = pipelines
        self.payments = payments
        let retention = RetentionRoutes(
            configuration.apps, handlers: try making.makeForApps(configuration),
            dataDirectory: configuration.dataDirectory, logger: logger)
        self.retention = retention
        let onboarding =
            configuration.hasLandingPage
            ? OnboardingRoutes(dataDirectory: configuration.dataDirectory, logger: logger) : nil
        self.onboarding = onboarding
        let retentionPeriods = RetentionSettings(current)
        let audit = AuditLog(
            dataDirectory: configuration.dataDirectory, days: current.store.auditDays, logger: logger)
        let sweeper = RetentionSweep(
            store: store, settings: retentionPeriods, audit: audit, logger: logger)
        retentionSweep = sweeper
        let uploads = UploadedFiles(dataDirectory: configuration.dataDirectory)
        sweep = AttachmentSweep(
            files: pipelines.deliveries.attachments.files, uploads: uploads,
            dataDirectory: configuration.dataDirectory, retention: { current.attachments.retention },
            settings: retentionPeriods, logger: logger)
        let webhook = WebhookRoute.make(
            current, isServed: { registry.contains($0) }, store: store, observer: observer)
        let sender = pipelines.sender
        let readinessWatch = ReadinessWatch()
        let checks = ReadinessChecks(
            store: store, settings: { current.store },
            phase: { isDraining.isSet ? .draining : hasStarted.isSet ? .running : .starting },
            pauses: { sender.pauses }, unexplainedRefusals: { sender.unexplainedRefusals },
            handlersDown: { registry.downCount })
        let health = { (audience: HealthRoutes.Audience) in
            HealthRoutes.make(
                for: audience, checks: checks, watch: readinessWatch)
        }
        self.readinessWatch = readinessWatch
        let signInFlow = SignInFlow(
            requests: store.requests, settings: signIns, client: signInClient, logger: logger)
        self.signInFlow = signInFlow
        let callbacks = SignInRoutes(
            flow: signInFlow,
            audit: SignInAudit(requests: store.requests, settings: signIns))
        let refusedReads = RefusedReads(observer)
        let logLevelRoutes =
            logLevels.map {
                LogLevelRoute(levels: $0, registry: registry, audit: audit, logger: logger).routes
            } ?? []
        let boundAdmin = BoundAddress()
        let listeners = ListenerConnections(admin: boundAdmin)
        let status = StatusRoute(
            version: version, checks: checks, store: store, deadReversals: { payments.deadLetters },
            registry: registry, connections: listeners,
            minimumFreeBytes: { current.store.minimumFreeBytes })
        var scope = OperationScope(store, logger: logger)
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
                        + HandlerRoutes.make(registry, audit: audit)
                        + PeopleRoutes.make(registry, pipelines.watch, audit: audit)
                        + [
                            SendRoute(sender: pipelines.sender, registry: registry).route,
                            DeliveryRoute(store: store, registry: registry, watch: observer).route,
                            status.route,
                        ]
                        + logLevelRoutes, describeRefusal: RefusedReads(logged).describe),
            shards: configuration.limits.shards, logger: logger)
        listeners.serve(with: http)
        let access = APIAccess(
            configuration.api, businesses: configuration.businesses, isSecure: tls != nil
        ) { boundAdmin.address }
        let api = BusinessAPI(
            access, cursors: APICursor(secret: configuration.secret, store: store.identity),
            numbers: RecordNumbers(key: store.recordKey, store: store.identity), audit: audit,
            logger: logger)
        let events = EventHub(store, access, logger: logger)
        let conversationFiles = ConversationFiles(dataDirectory: configuration.dataDirectory)
        let typing = TypingIndicators(send: TypingIndicators.sender(pipelines.gateway, logger)) {
            name, isTyping in
            events.send(
                TransientEvent(
                    name: .typing, business: name.business,
                    conversation: ConversationFiles.name(of: name.customer), isTyping: isTyping,
                    direction: .outbound))
        }
        sender.whenAccepted { typing.messageWasSent(in: $0) }
        let journalReaders = InFlightOperations(maximum: InFlightOperations.maximumJournalReaders)
        let operations =
            BusinessRoutes.make(registry, store)
            + ConversationRoutes.make(
                conversationFiles, pipelines.deliveries.attachments.files, store, watch: pipelines.watch,
                journalReaders: journalReaders)
            + ConversationListRoutes(store: store, files: conversationFiles).routes()
            + SendingRoutes(
                sender: pipelines.sender, conversations: conversationFiles, uploads: uploads,
                journalReaders: journalReaders
            ).routes()
            + [
                UploadRoute(uploads: uploads, maximumBytes: { current.attachments.maximumBytes }).route
            ]
            + AssignmentRoutes(store: store, files: conversationFiles, watch: pipelines.watch).routes()
            + TypingRoutes(
                store: store, files: conversationFiles, indicators: typing, watch: pipelines.watch
            ).routes()
            + PresenceRoutes(watch: pipelines.watch).routes()
            + PaymentWithdrawalRoutes(results: payments.results).routes()
            + DeliveryOperations(store: store, journalReaders: journalReaders).routes()
            + EventRoutes.make(events)
        self.events = events
        self.typing = typing
        self.boundAdmin = boundAdmin
        self.api = api
        self.labels = labels
        let merchantCertificates = MerchantCertificates([])
        self.merchantCertificates = merchantCertificates
        let metrics = MetricsRoute(
            version: version, commit: commit, stages: stages, labels: labels, store: store,
            deadReversals: { payments.deadLetters }, registry: registry,
            gateway: pipelines.gateway.metrics, expiredReferences: pipelines.resolver.expired,
            server: MetricsRoute.Server(
                connections: { listeners.counts },
                isCredentialRefused: { sender.pauses.contains(where: \.isCredentialRefused) },
                isReloaded: { [reloads] in reloads.isSuccess },
                certificateExpiry: { tls?.expirySecondsSince1970 },
                merchantCertificates: merchantCertificates,
                suspectedSettings: { [signInFlow] in signInFlow.suspectedSettings }))
        admin = try configuration.adminListen.socketAddress.map { address in
            let listener = HTTPListener(
                address,
                routes: health(.operators { api.access.hostRule })
                    + [metrics.route.forHosts({ api.access.hostRule }, hint: HealthRoutes.hostHint)]
                    + api.routes(APIDocument.completing(operations))
                    + InboxRoutes(api: api, folder: configuration.webFolder).routes(),
                tls: tls, inherited: configuration.inheritedSockets["admin"],
                describeRefusal: api.describe)
            return try HTTPServer(listeners: [listener], shards: 1, logger: logger)
        }
        boundAdmin.serve(with: admin)
        applySettings()
    }

    /// The bound address of the admin listener; nil when there is none.
    package var adminAddress: SocketAddress? { boundAdmin.address }

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
        let (events, typing) = (events, typing)
        let payments = payments
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
                group.addTask { await typing.run() }
                group.addTask { await payments.run() }
                group.addTask { await events.run(healthOf: registry) }
                for await worker in registry.workers {
                    group.addTask { await pipelines.deliveries.run(worker) }
                }
            }
        }
        work.withLock { $0 = task }
        sweeping.withLock { [sweep, retentionSweep, onboarding] in
            $0 = [sweep.begin(), retentionSweep.begin()] + (onboarding.map { [$0.begin()] } ?? [])
        }
        retaining.withLock { [retention] in $0 = retention?.begin() ?? [] }
        do {
            // Return only the address of the first listener: the second is the control socket for local
            // commands.
            let addresses = try await http.start().prefix(1)
            if adminAddress != nil { _ = try await admin?.start() }
            try await inspector?.start(store, registry, pipelines)
            hasStarted.set()
            return Array(addresses)
        } catch {
            await stop(within: shutdownTime, grace: .zero)
            throw error
        }
    }

    /// Binds the admin listener; a default address that cannot be bound is a warning.
    private func bindAdmin() async throws {
        do {
            boundAdmin.address = try await admin?.bind().first
        } catch {
            guard case .optional = configuration.adminListen else { throw error }
            logger.warning(
                "admin listener not started; set adminListen to a free address or to off",
                metadata: ["reason": "\(error)"])
        }
    }

    /// Reloads the businesses, and the certificate and its key for new connections.
    ///
    /// An unusable configuration is logged as an error, and the businesses are replaced all together or not
    /// at all. The certificate is reloaded even then. Only handlers whose own section changed are restarted,
    /// without losing or reordering events. Calls must not overlap; returns when the new handlers are
    /// started.
    package func reload(_ load: () throws(ConfigurationError) -> ServerConfiguration) async {
        do throws(ConfigurationError) {
            let wanted = try load()
            let new = try making.make(wanted) { registry[$0]?.fingerprint }
            let newOfApps = try making.makeForApps(wanted) { retention?.fingerprint(of: $0) }
            if isDraining.isSet { return }
            // Before the wait for old handlers, so that a removed secret or token is not valid meanwhile.
            configuration.replace(with: wanted)
            api.access.replace(with: wanted.api, businesses: wanted.businesses)
            applySettings()
            await http.apply(configuration.http, toListener: 0)
            reloadCertificate()
            await retention?.change(to: wanted.apps, handlers: newOfApps)
            let change = await registry.change(to: Set(wanted.businesses.map(\.businessID)), replacing: new)
            reloads.isSuccess = true
            log(change, configuration.initial.settingsThatNeedRestart(comparedTo: wanted))
        } catch {
            reloads.isSuccess = false
            for problem in error.problems {
                logger.error(
                    "configuration not reloaded; the old configuration stays in effect",
                    metadata: ["problem": "\(problem)"])
            }
            reloadCertificate()
        }
    }

    /// Passes the configuration in effect to the parts that know no configuration, or derive something from it.
    ///
    /// Every other part reads the setting at the time of use.
    private func applySettings() {
        let configuration = configuration.value
        let (businesses, limits) = (configuration.businesses, configuration.limits)
        pipelines.gateway.apply(GatewayConfiguration(configuration))
        store.apply(configuration.store.configuration(directory: configuration.dataDirectory))
        do throws(StoreError) { try store.checkLedger() } catch {
            logger.error(
                "the ledger of erasures cannot be used; erasures and backups are refused",
                metadata: ["error": "\(error)"])
        }
        store.keepIndex(!configuration.api.tokens.isEmpty || businesses.removeMessages)
        store.limitReferences(
            slots: limits.referenceConcurrency, share: limits.referenceShare(among: businesses.count))
        let quotas = businesses.compactMap { business in
            business.maximumPendingMessages.map { (business.businessID, $0) }
        }
        store.limitPending(
            Dictionary(quotas) { first, _ in first },
            others: max(1, configuration.store.maximumPendingDeliveries / 4))
        let attachments = configuration.attachments
        pipelines.deliveries.attachments.slots.resize(
            to: attachments.concurrency, share: attachments.share(among: businesses.count))
        labels.change(to: businesses)
        merchantCertificates.change(to: businesses)
        payments.forbidCoreDumps()
    }

    private func log(_ change: HandlerRegistry.Change, _ needRestart: [String]) {
        logger.notice(
            "configuration reloaded",
            metadata: [
                "added": "\(change.added.joined(separator: ","))",
                "replaced": "\(change.replaced.joined(separator: ","))",
                "removed": "\(change.removed.joined(separator: ","))", "unchanged": "\(change.unchanged)",
            ])
        guard !needRestart.isEmpty else { return }
        logger.warning(
            "some changes of the configuration take effect only after a restart",
            metadata: ["keys": "\(needRestart.joined(separator: ","))"]
        )
    }

    private func reloadCertificate() {
        guard let tls else { return }
        do {
            try tls.reload()
            logger.notice("certificate reloaded")
        } catch {
            logger.error("certificate not reloaded", metadata: ["reason": "\(error)"])
        }
    }

    /// The time limit for a stop that begins now.
    package var shutdownTime: Duration { configuration.shutdownTime }

    /// The work that would remain unfinished if the process ended now.
    package var leftover: Leftover {
        Leftover(
            connections: http.connectionCount + (admin?.connectionCount ?? 0),
            handlerCalls: registry.callCount,
            pendingDeliveries: store.statistics.pendingDeliveries, queuedReplies: store.queuedReplyCount)
    }

    /// Stops within `limit`, even when a handler, a download, a reload or the disk hangs; returns false when
    /// work remained unfinished.
    ///
    /// New connections are refused. Requests and deliveries in flight may finish within `grace`: by default
    /// until five seconds before the limit, or until half of a limit below ten seconds. Then deliveries are
    /// cancelled, handlers are shut down, and the store is synced and closed.
    @discardableResult
    package func stop(within limit: Duration, grace: Duration? = nil) async -> Bool {
        let times = StopTimes(limit, grace: grace)
        return await Task { await stop(times) }.value(within: limit) ?? false
    }

    /// Records that the process was asked to stop; from then on, no delivery counts an attempt or a crash.
    package func recordStop() { store.recordStop() }

    private func stop(_ times: StopTimes) async -> Bool {
        isDraining.set()
        recordStop()
        let isInherited = configuration.inheritedSockets["public"] != nil
        // Without an explicit delay, drain only for a prober. The connections of an inherited socket wait for the
        // next process.
        let probed = !isInherited && readinessWatch.isAsked() ? ServerConfiguration.defaultDrainDelay : .zero
        let delay = configuration.drainDelay ?? probed
        if delay > .zero {
            // A load balancer sends connections until it has seen the 503 of /readyz. A cancelled wait ends early.
            try? await Task.sleep(for: min(delay, times.longestDrain))
        }
        // Work that waits for the disk resumes after a restart: the stop does not wait for it.
        if store.isHeldUp { pipelines.sender.outcomes.cancelAll() }
        events.stop()
        inspector?.levers.end()
        // A program whose wait ends here repeats its request, and the next process returns the outcome.
        pipelines.sender.outcomes.stopWaiting()
        async let adminStop: Void? = admin?.stop(within: times.grace)
        async let inspectorStop: Void? = inspector?.stop(within: .zero)
        let signInEnd = Task { [signInFlow] in
            let left = times.graceLeft
            // A cancelled sleep means that all requests were answered.
            guard (try? await Task.sleep(for: max(left / 2, left - .seconds(1)))) != nil else { return }
            // Cancel the callbacks now, so that browsers get an answer before their connections close.
            signInFlow.stop()
        }
        // A client with an open connection may be sending its next request.
        await http.stop(within: times.graceLeft, idle: isInherited || delay > .zero ? .seconds(1) : .zero)
        signInEnd.cancel()
        signInFlow.stop()
        _ = await (adminStop, inspectorStop)
        // Workers end when the store stops leasing; leased deliveries may still finish.
        store.stopLeasing()
        registry.stopWaiting()
        pipelines.watch.stop()
        typing.stop()
        payments.stop()
        sweeping.withLock { for task in $0 { task.cancel() } }
        await endRetention()
        let haveEnded = await endDeliveries(times)
        let left = store.statistics.pendingDeliveries
        if left > 0 {
            logger.notice(
                "stopping with unfinished deliveries; the next start resumes them",
                metadata: ["count": "\(left)"])
        }
        let queued = store.queuedReplyCount
        if queued > 0 {
            logger.notice(
                "stopping with unsent replies; the next start sends them", metadata: ["count": "\(queued)"])
        }
        await store.close()
        return haveEnded
    }

    /// Writes the queued decisions about retention messages, and ends the tasks that read states and delete
    /// records.
    private func endRetention() async {
        retention?.finish()
        let tasks = retaining.withLock { $0 }
        // The first task ends by itself when the queued decisions are written.
        for task in tasks.dropFirst() { task.cancel() }
        for task in tasks { _ = await task.value(within: .seconds(1)) }
    }

    /// Waits for the deliveries and shuts down the handlers; false when a delivery does not end even after
    /// its cancellation.
    private func endDeliveries(_ times: StopTimes) async -> Bool {
        let task = work.withLock { $0 } ?? Task {}
        let isInTime = await task.value(within: times.graceLeft) != nil
        if !isInTime { task.cancel() }
        // Shutting down a handler releases the deliveries that wait for it.
        async let handlers: Void = registry.shutdown(within: times.handlersLeft)
        async let appHandlers: Void? = retention?.shutdown(within: times.handlersLeft)
        let haveEnded = isInTime ? true : await task.value(within: times.cancelledLeft) != nil
        await handlers
        await appHandlers
        return haveEnded
    }
}

/// Divides the time of a shutdown among its steps.
///
/// A step gets the time that earlier steps did not use. The last five seconds, or half of a limit below ten
/// seconds, are reserved for cancelled deliveries, for handlers and for closing the store.
struct StopTimes: Sendable {
    /// The time for requests and deliveries to finish.
    let grace: Duration
    private let limit: Duration
    private let reserve: Duration
    private let began = ContinuousClock.now

    init(_ limit: Duration, grace: Duration? = nil) {
        self.limit = limit
        reserve = min(limit / 2, .seconds(5))
        self.grace = grace ?? limit - reserve
    }

    /// The longest drain: the rest of the time is for requests and deliveries.
    var longestDrain: Duration { grace / 2 }
    var graceLeft: Duration { max(.zero, grace - elapsed) }
    /// The time that is left until handlers are cancelled and their child processes killed.
    var handlersLeft: Duration { max(.zero, limit - elapsed - reserve * 2 / 5) }
    /// The time that is left for cancelled deliveries to end: slightly more than for the handlers they wait for.
    var cancelledLeft: Duration { handlersLeft + reserve / 5 }

    private var elapsed: Duration { .now - began }
}

/// Whether the last reload of the configuration succeeded; true before the first.
private final class ReloadResult: Sendable {
    private let flag = Atomic(true)

    var isSuccess: Bool {
        get { flag.load(ordering: .relaxed) }
        set { flag.store(newValue, ordering: .relaxed) }
    }
}

/// A flag that is set once, when the server has started or begins to drain.
final class DrainFlag: Sendable {
    private let flag = Atomic(false)

    var isSet: Bool { flag.load(ordering: .relaxed) }
    func set() { flag.store(true, ordering: .relaxed) }
}

/// Creates the answers to requests that are refused while they are read, and reports each as stage `read`.
private final class RefusedReads: Sendable {
    private let observer: any StageObserver
    private let references = Mutex(ReferenceSequence())

    init(_ observer: any StageObserver) { self.observer = observer }

    @Sendable func describe(_ refusal: HTTPRefusal) -> HTTPContent {
        let reference = references.withLock { $0.next() }
        let result = StageEvent.Result.refused(status: refusal.status.code, reason: refusal.reason)
        observer.observe(StageEvent(stage: .read, result: result, nanoseconds: 0, reference: reference.text))
        return HTTPContent(text: "\(refusal.status.reason) (reference \(reference.text))\n")
    }
}
