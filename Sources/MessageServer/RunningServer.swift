import BalloonHTTP
package import BalloonPOSIX
import BalloonTLS
import BusinessMessages
import GatewayClient
package import HandlerKit
package import Logging
package import MessageStore
import Synchronization

/// A server that is put together, started and stopped in one order and its mirror.
package final class RunningServer: Sendable {
    private let configuration: ServerConfiguration
    private let store: Store
    private let registry: HandlerRegistry
    private let making: HandlerBuilder
    private let pipelines: Pipelines
    private let sweep: AttachmentSweep
    private let sweeping = Mutex<Task<Void, Never>?>(nil)
    private let http: HTTPServer
    private let tls: TLSCredentials?
    private let logger: Logger
    private let isDraining: DrainFlag
    private let work = Mutex<Task<Void, Never>?>(nil)

    /// Puts a server together: makes the handlers, opens the data directory and recovers what a crash left.
    ///
    /// The journal and the conversations are written to `disk`.
    /// Throws ``ConfigurationError`` when a handler is unknown or refuses its configuration, or the certificate and its
    /// key do not go together; and what the store throws.
    package init(
        configuration: ServerConfiguration, handlers: [any HandlerFactory], logger: Logger,
        observer: (any StageObserver)? = nil, disk: any StoreDisk = SystemDisk()
    ) throws {
        let maximumOpenFiles = OpenFileLimit.raise()
        FreeMemory.returnLargeBlocks()
        let observer = observer ?? LogObserver(logger)
        let isDraining = DrainFlag()
        let making = HandlerBuilder(factories: handlers, unasked: ProactiveMessages(), logger: logger)
        let registry = HandlerRegistry(try making.make(configuration))
        let tls = try configuration.tls?.credentials()
        var storeConfiguration = configuration.store.configuration(
            directory: configuration.dataDirectory)
        storeConfiguration.disk = disk
        // Most of the descriptors are for connections.
        storeConfiguration.maximumOpenConversations = min(max(128, maximumOpenFiles / 4), 16_384)
        let store = try Store.open(storeConfiguration, logger: logger)
        making.unasked.open(store)
        let pipelines = try Pipelines(
            configuration, store: store, observer: observer, logger: logger
        ) { registry[$0]?.wantsReplyFailures ?? false }
        self.configuration = configuration
        self.logger = logger
        self.isDraining = isDraining
        self.registry = registry
        self.making = making
        self.store = store
        self.tls = tls
        self.pipelines = pipelines
        sweep = AttachmentSweep(
            files: pipelines.deliveries.attachments.files, retention: configuration.attachments.retention,
            logger: logger)
        Self.share(configuration, among: configuration.businesses, store, pipelines.deliveries)
        let webhook = WebhookRoute.make(
            configuration, isServed: { registry.contains($0) }, store: store, observer: observer)
        let sender = pipelines.sender
        let health = { (audience: HealthRoutes.Audience) in
            HealthRoutes.make(
                for: audience, store: store,
                outbox: { .outbox(sender.pauses, queuedReplies: store.queuedReplyCount) }
            ) { isDraining.isSet }
        }
        http = try HTTPServer(
            listeners: [
                HTTPListener(
                    configuration.listen, routes: [webhook] + health(.everybody), limits: configuration.http,
                    tls: tls)
            ]
                + ControlRoutes.listeners(
                    configuration.dataDirectory, store,
                    others: health(.operators) + HandlerRoutes.make(registry)
                        + [SendRoute(sender: pipelines.sender, registry: registry).route], logger),
            shards: configuration.limits.shards, logger: logger,
            describeRefusal: RefusedReads(observer).describe)
    }

    /// Starts: binds the listener, delivers what an earlier life left, then serves; returns the bound address.
    package func start() async throws -> [SocketAddress] {
        do {
            // Before any handler starts, so that none does for a server that cannot serve.
            try await http.bind()
        } catch {
            await store.close()
            throw error
        }
        let (pipelines, registry) = (pipelines, registry)
        let removed = RemovedBusinesses(
            store: store, registry: registry, age: configuration.removedBusinessAge, logger: logger)
        let recording = pipelines.recording
        store.startRecording { try recording.record($0) }
        sweep.removeUnfinished()
        registry.start()
        let task = Task {
            await withDiscardingTaskGroup { group in
                group.addTask { await pipelines.resolver.run() }
                group.addTask { await pipelines.sender.run() }
                group.addTask { await removed.run() }
                for await worker in registry.workers {
                    group.addTask { await pipelines.deliveries.run(worker) }
                }
            }
        }
        work.withLock { $0 = task }
        sweeping.withLock { [sweep] in $0 = sweep.begin() }
        do {
            // The control socket is nobody's to connect to but the commands of this machine.
            return Array(try await http.start().prefix(1))
        } catch {
            await stop(within: configuration.shutdownTime, grace: .zero)
            throw error
        }
    }

    /// Reads again what may change while it serves: the businesses, and the certificate and its key for the connections
    /// that come.
    ///
    /// What cannot be used is logged as an error and changes nothing: the businesses are one snapshot, of which all or
    /// nothing counts. Only the handlers of those whose own section changed begin anew, and no event is lost or comes
    /// out of order. One call at a time; returns when the new handlers are started.
    package func reload(_ load: () throws(ConfigurationError) -> ServerConfiguration) async {
        do throws(ConfigurationError) {
            let wanted = try load()
            let new = try making.make(wanted) { registry[$0]?.fingerprint }
            if isDraining.isSet { return }
            let change = await registry.change(to: Set(wanted.businesses.map(\.businessID)), replacing: new)
            Self.share(configuration, among: wanted.businesses, store, pipelines.deliveries)
            log(change, configuration.settingsThatNeedRestart(comparedTo: wanted))
        } catch {
            for problem in error.problems {
                logger.error(
                    "configuration not reloaded, the old one stays", metadata: ["problem": "\(problem)"])
            }
        }
        reloadCertificate()
    }

    /// Sets what each of these businesses may have of what all share: slots for references and files, and messages that
    /// wait.
    private static func share(
        _ configuration: ServerConfiguration, among businesses: [BusinessConfiguration], _ store: Store,
        _ deliveries: DeliveryPipeline
    ) {
        let (limits, attachments) = (configuration.limits, configuration.attachments)
        store.limitReferences(
            slots: limits.referenceConcurrency, share: limits.referenceShare(among: businesses.count))
        deliveries.attachments.slots.resize(
            to: attachments.concurrency, share: attachments.share(among: businesses.count))
        let quotas = businesses.compactMap { business in
            business.maximumPendingMessages.map { (business.businessID, $0) }
        }
        store.limitPending(
            Dictionary(quotas) { first, _ in first },
            others: max(1, configuration.store.maximumPendingDeliveries / 4))
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
            "changes count only after a restart", metadata: ["keys": "\(needRestart.joined(separator: ","))"])
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

    /// What would be left if the process ended now.
    package var leftover: Leftover {
        Leftover(
            connections: http.connectionCount, handlerCalls: registry.callCount,
            pendingDeliveries: store.statistics.pendingDeliveries, queuedReplies: store.queuedReplyCount)
    }

    /// Stops within `limit`, whatever a handler, a download, a reload or the disk does; false when something was left.
    ///
    /// No new connections; requests and deliveries in flight may end within `grace`: unless said otherwise, until five
    /// seconds before the limit, or until half of a limit below ten. Then deliveries are cancelled, handlers end, and the
    /// store is synced and closed.
    @discardableResult
    package func stop(within limit: Duration, grace: Duration? = nil) async -> Bool {
        let times = StopTimes(limit, grace: grace)
        return await Task { await stop(times) }.value(within: limit) ?? false
    }

    private func stop(_ times: StopTimes) async -> Bool {
        isDraining.set()
        // What the disk holds up goes on after a restart: nobody waits for it.
        if store.isHeldUp { pipelines.sender.outcomes.cancelAll() }
        await http.stop(within: times.grace)
        // Lanes end when the store leases no more; what they have leased may still be brought to an end.
        store.stopLeasing()
        registry.stopWaiting()
        sweeping.withLock { $0?.cancel() }
        let haveEnded = await endDeliveries(times)
        let left = store.statistics.pendingDeliveries
        if left > 0 {
            logger.notice(
                "deliveries that are not finished go on after a restart", metadata: ["count": "\(left)"])
        }
        let queued = store.queuedReplyCount
        if queued > 0 {
            logger.notice(
                "replies that are not sent go on after a restart", metadata: ["count": "\(queued)"])
        }
        await store.close()
        return haveEnded
    }

    /// Waits for the deliveries and ends the handlers; false when some delivery does not end even when it is cancelled.
    private func endDeliveries(_ times: StopTimes) async -> Bool {
        let task = work.withLock { $0 } ?? Task {}
        let isInTime = await task.value(within: times.graceLeft) != nil
        if !isInTime { task.cancel() }
        // A handler that ends lets go of the deliveries that wait for it.
        async let handlers: Void = registry.shutdown(within: times.handlersLeft)
        let haveEnded = isInTime ? true : await task.value(within: times.cancelledLeft) != nil
        await handlers
        return haveEnded
    }
}

/// How long the parts of a stop may take: what one leaves is the next one's, and the store's end has the last share.
private struct StopTimes: Sendable {
    /// Requests and deliveries together, to end by themselves.
    let grace: Duration
    private let limit: Duration
    private let reserve: Duration
    private let began = ContinuousClock.now

    init(_ limit: Duration, grace: Duration?) {
        self.limit = limit
        reserve = min(limit / 2, .seconds(5))
        self.grace = grace ?? limit - reserve
    }

    var graceLeft: Duration { max(.zero, grace - elapsed) }
    /// Handlers, until they are cancelled and child processes killed.
    var handlersLeft: Duration { max(.zero, limit - elapsed - reserve * 2 / 5) }
    /// Deliveries that were cancelled: a moment longer than the handlers that they wait for.
    var cancelledLeft: Duration { handlersLeft + reserve / 5 }

    private var elapsed: Duration { .now - began }
}

/// Set once, when the server begins to drain.
final class DrainFlag: Sendable {
    private let flag = Atomic(false)

    var isSet: Bool { flag.load(ordering: .relaxed) }
    func set() { flag.store(true, ordering: .relaxed) }
}

/// Words the answers to requests that are refused while they are read: stage `read`.
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
