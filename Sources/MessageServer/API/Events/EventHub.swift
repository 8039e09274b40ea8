import BalloonHTTP
import BalloonPOSIX
import BusinessMessages
import HandlerKit
import Logging
import MessageStore
import Synchronization

/// Reads the store's events and sends them to all followers.
///
/// ```
///   EventSource ──every 50 ms──> ring ──> one broadcast for each filter ──> followers at the end
///                                 └────── EventCursor ──> followers that resume, pages
///   journal ─────────────────────────────────┘
/// ```
///
/// While no token is configured, nothing is read or kept. One lock covers the ring and the broadcasts, so that a follower
/// that reaches the end of the ring subscribes without a gap.
final class EventHub: Sendable {
    /// The followers with the same filter, which get the same bytes.
    final class Channel: Sendable {
        let broadcast = HTTPBroadcast()
        /// The followers that do not subscribe yet.
        fileprivate let arriving = Atomic(0)
        private let ended = Atomic(false)
        private let stream = Mutex<APIStream?>(nil)

        /// Whether its token was removed, or the server stops.
        var hasEnded: Bool { ended.load(ordering: .acquiring) }

        func end() {
            ended.store(true, ordering: .releasing)
            broadcast.finish()
            close()
        }

        func close() { stream.withLock { $0.take() }?.close() }

        /// Ends a follower's way to the end of the ring.
        func arrived() { arriving.subtract(1, ordering: .relaxed) }

        fileprivate func opened(_ stream: APIStream) { self.stream.withLock { $0 = stream } }

        fileprivate var isUnused: Bool {
            broadcast.subscriberCount == 0 && arriving.load(ordering: .relaxed) == 0
        }

        fileprivate func send(_ events: [PlacedEvent], _ filter: EventFilter, _ access: APIAccess) {
            let slugs = filter.slugs(access)
            var text: [UInt8] = []
            for placed in events where filter.wants(placed.event) {
                if let slug = slugs[placed.event.business] {
                    EventText.append(placed, business: slug, to: &text)
                }
            }
            broadcast.send(text)
        }
    }

    struct State {
        var ring = EventRing(after: 0)
        /// Whether the store's events are read.
        var isFollowing = false
        var isClosed = false
        /// The last record that was read, and the records with events that wait for their lines.
        var last: UInt64 = 0
        var unsent: Set<UInt64> = []
        /// The last record of which every event is in the ring.
        var through: UInt64 = 0
        fileprivate var channels: [EventFilter: Channel] = [:]
        fileprivate var waiters: [UInt64: AsyncStream<Void>.Continuation] = [:]
        fileprivate var lastWaiter: UInt64 = 0
    }

    /// The pause between two writes to a follower.
    static let interval = Duration.milliseconds(50)
    /// The pause between two comments.
    static let heartbeat = Duration.seconds(15)
    /// The maximum number of different filters, and of pages that wait for an event.
    static let maximumChannels = 256
    static let maximumWaiters = 64

    let store: Store
    let access: APIAccess
    /// Followers that read the journal, each a few megabytes of memory.
    let readers = AsyncSemaphore(4)
    private let state = Mutex(State())
    private let pump: EventPump
    /// Ends when a stop begins.
    private let stopping = AsyncStream.makeStream(of: Void.self)
    private let logger: Logger

    init(_ store: Store, _ access: APIAccess, logger: Logger) {
        self.store = store
        self.access = access
        self.logger = logger
        pump = EventPump(store)
    }

    /// Begins to read the store's events when there is a token, and stops when there is none; called before messages are
    /// recorded, and after each reload.
    func begin() async {
        guard access.isServed else {
            state.withLock { $0.isFollowing = false }
            return store.endEvents()
        }
        guard state.withLock({ !$0.isFollowing && !$0.isClosed }) else { return }
        let begin = await pump.begin()
        state.withLock { state in
            state.ring = EventRing(after: begin.last)
            state.isFollowing = true
            state.set(begin)
        }
    }

    /// Sends events until a stop begins, or the task is cancelled.
    func run(healthOf registry: HandlerRegistry) async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { for await _ in self.stopping.stream {} }
            group.addTask {
                for await _ in self.store.eventWakeups {
                    await self.publish()
                    // Cancelled at a stop: the loop ends with the store's wakeups.
                    try? await Task.sleep(for: Self.interval)
                    if Task.isCancelled { return }
                }
            }
            group.addTask { await self.watch(registry) }
            group.addTask {
                // Cancelled at a stop.
                while (try? await Task.sleep(for: Self.heartbeat)) != nil { self.sendComments() }
            }
            await group.next()
            group.cancelAll()
        }
    }

    /// Sends changes of the handlers' health while there are followers, until the task is cancelled.
    private func watch(_ registry: HandlerRegistry) async {
        var known: [BusinessID: String] = [:]
        // Cancelled at a stop.
        while (try? await Task.sleep(for: .seconds(1))) != nil {
            guard state.withLock({ $0.channels.values.contains { $0.broadcast.subscriberCount > 0 } }) else {
                known = [:]
                continue
            }
            for handler in registry.all {
                guard let health = await handler.life?.report.health.rawValue else { continue }
                let before = known.updateValue(health, forKey: handler.business)
                guard let before, before != health else { continue }
                send(TransientEvent(name: .handlerHealth, business: handler.business, health: health))
            }
        }
    }

    /// Reads and sends the events that are due.
    func publish() async {
        guard state.withLock({ $0.isFollowing }) else { return }
        guard let batch = await pump.next() else {
            logger.warning("events were not sent in time; their followers resume from the journal")
            let begin = await pump.begin()
            let channels = state.withLock { state in
                state.ring = EventRing(after: begin.last)
                state.set(begin)
                return state.removeChannels()
            }
            for channel in channels { channel.end() }
            return
        }
        state.withLock { state in
            for event in batch.events { state.ring.append(event) }
            state.set(batch)
            guard !batch.events.isEmpty else { return }
            for (filter, channel) in state.channels {
                if channel.broadcast.subscriberCount > 0 { channel.send(batch.events, filter, access) }
            }
            for waiter in state.waiters.values { waiter.yield() }
        }
    }

    /// Keeps connections open, and forgets filters without followers.
    private func sendComments() {
        let unused = state.withLock { state in
            for channel in state.channels.values { channel.broadcast.send(EventText.comment(state.through)) }
            let unused = state.channels.filter { $0.value.isUnused }
            for filter in unused.keys { state.channels[filter] = nil }
            return unused.values
        }
        for channel in unused { channel.close() }
    }

    /// Ends all streams and pages: a stop begins.
    func stop() {
        let (channels, waiters) = state.withLock { state in
            state.isClosed = true
            defer { state.waiters = [:] }
            return (state.removeChannels(), state.waiters.values)
        }
        for channel in channels { channel.end() }
        for waiter in waiters { waiter.finish() }
        stopping.continuation.finish()
    }
}

/// The calls of followers.
extension EventHub {
    /// The channel of a filter, for one more follower, which must call ``Channel/arrived()``.
    ///
    /// Throws a problem when there are too many filters, when the token was removed, and when the server stops.
    func channel(for filter: EventFilter) throws(APIProblem) -> Channel {
        let (channel, isNew) = try state.withLock { state throws(APIProblem) in
            guard !state.isClosed, state.isFollowing else {
                throw APIProblem(.unavailable, "the server stops")
            }
            if let channel = state.channels[filter] {
                channel.arriving.add(1, ordering: .relaxed)
                return (channel, false)
            }
            guard state.channels.count < Self.maximumChannels else {
                throw APIProblem(.unavailable, "too many different filters are followed")
                    .field("Retry-After", "15")
            }
            let channel = Channel()
            channel.arriving.add(1, ordering: .relaxed)
            state.channels[filter] = channel
            return (channel, true)
        }
        guard isNew else { return channel }
        guard let stream = access.openStream(of: filter.token, end: { [weak self] in self?.end(filter) })
        else {
            end(filter)
            throw APIProblem(.unauthenticated, "the token was removed")
        }
        channel.opened(stream)
        return channel
    }

    private func end(_ filter: EventFilter) {
        state.withLock { $0.channels.removeValue(forKey: filter) }?.end()
    }

    /// Reads or changes the state; for short steps.
    func withState<Result: Sendable>(_ body: (inout State) -> Result) -> Result {
        state.withLock { body(&$0) }
    }

    /// Sends an event that is not kept: without a place, to the followers at the end only.
    func send(_ event: TransientEvent) {
        state.withLock { state in
            for (filter, channel) in state.channels where filter.types?.contains(event.name.rawValue) ?? true
            {
                guard channel.broadcast.subscriberCount > 0,
                    let slug = filter.slugs(access)[event.business]
                else { continue }
                channel.broadcast.send(EventText.transient(event, business: slug))
            }
        }
    }

    /// Begins to wait for further events; nil when too many pages wait, or the server stops.
    func beginWaiting() -> (id: UInt64, wakeups: AsyncStream<Void>)? {
        state.withLock { state in
            guard !state.isClosed, state.waiters.count < Self.maximumWaiters else { return nil }
            let (wakeups, waiter) = AsyncStream.makeStream(
                of: Void.self, bufferingPolicy: .bufferingNewest(1))
            state.lastWaiter += 1
            state.waiters[state.lastWaiter] = waiter
            return (state.lastWaiter, wakeups)
        }
    }

    /// Ends a wait.
    func endWaiting(_ id: UInt64) { state.withLock { $0.waiters.removeValue(forKey: id) }?.finish() }
}

extension EventHub.State {
    fileprivate mutating func set(_ batch: EventPump.Batch) {
        last = batch.last
        unsent = batch.unsent
        through = batch.through
    }

    fileprivate mutating func removeChannels() -> [EventHub.Channel] {
        defer { channels = [:] }
        return Array(channels.values)
    }
}

/// Reads the store's events on a queue of its own, because that may read files.
actor EventPump {
    /// Events, and the state of the source behind them.
    struct Batch: Sendable {
        let events: [PlacedEvent]
        let last: UInt64
        let unsent: Set<UInt64>
        let through: UInt64
    }

    private nonisolated let executor = QueueExecutor(label: "balloon.events")
    private let store: Store
    private var source: EventSource?

    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe executor.asUnownedSerialExecutor() }

    init(_ store: Store) { self.store = store }

    /// Begins anew; the batch has no events.
    func begin() async -> Batch {
        source = await store.followEvents()
        return batch([])
    }

    /// The events that are due; nil when some were dropped.
    func next() -> Batch? {
        guard let events = source?.next() else { return nil }
        return batch(events)
    }

    private func batch(_ events: [PlacedEvent]) -> Batch {
        Batch(
            events: events, last: source?.last ?? 0, unsent: source?.unsent ?? [],
            through: source?.through ?? 0)
    }
}
