import BalloonHTTP
import BalloonPOSIX
import BusinessMessages
import HandlerKit
import Logging
import MessageStore
import Synchronization

/// Reads the store's events and sends them to all followers, which are the clients of `GET /v1/events`.
///
/// ```
///   EventSource ──every 50 ms──> ring ──> one broadcast for each filter ──> followers at the end
///                                 └────── EventCursor ──> followers that resume, pages
///   journal ─────────────────────────────────┘
/// ```
///
/// Without followers, nothing is read or kept. Reading begins with the first one, and ends some minutes after the last. One lock covers the ring and the broadcasts, so
/// that a follower that reaches the end of the ring subscribes without a gap.
final class EventHub: Sendable {
    /// Sends the same bytes to all followers with the same filter.
    final class Channel: Sendable {
        let broadcast = HTTPBroadcast()
        /// The number of followers that still read earlier events, and have not subscribed yet.
        fileprivate let arriving = Atomic(0)
        private let ended = Atomic(false)
        /// The tasks that bring followers to the end of the ring, by number.
        private let ways = Mutex<(last: UInt64, tasks: [UInt64: Task<Void, Never>])>((0, [:]))
        private let stream = Mutex<APIStream?>(nil)

        /// Whether the channel has ended, because its token was removed or the server stops.
        var hasEnded: Bool { ended.load(ordering: .acquiring) }

        func end() {
            ended.store(true, ordering: .releasing)
            broadcast.finish()
            for way in ways.withLock({ Array($0.tasks.values) }) { way.cancel() }
            close()
        }

        func close() { stream.withLock { $0.take() }?.close() }

        /// Runs the task that brings a follower to the end of the ring; the end of the channel cancels the
        /// task.
        func run(_ way: @escaping @Sendable () async -> Void) {
            ways.withLock { ways in
                ways.last += 1
                let number = ways.last
                ways.tasks[number] = Task {
                    await way()
                    self.arriving.subtract(1, ordering: .relaxed)
                    self.ways.withLock { $0.tasks[number] = nil }
                }
                if hasEnded { ways.tasks[number]?.cancel() }
            }
        }

        /// Keeps the stream of the channel's token until the channel ends; closes it now if the channel has
        /// ended.
        func opened(_ stream: APIStream) {
            self.stream.withLock { $0 = stream }
            if hasEnded { close() }
        }

        /// The number of followers at the end of the ring and on their way to it.
        fileprivate var followerCount: Int {
            broadcast.subscriberCount + arriving.load(ordering: .relaxed)
        }

        fileprivate var isUnused: Bool { followerCount == 0 }
    }

    /// A request for a page of events, until it is answered.
    final class Page: Sendable {
        let wakeups: AsyncStream<Void>
        fileprivate let id: UInt64
        fileprivate let token: APIToken
        private let wake: AsyncStream<Void>.Continuation
        private let removed = Atomic(false)
        private let stream = Mutex<APIStream?>(nil)

        fileprivate init(_ id: UInt64, of token: APIToken) {
            self.id = id
            self.token = token
            (wakeups, wake) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
        }

        /// Whether a reload removed or changed the token of the page.
        var isTokenRemoved: Bool { removed.load(ordering: .acquiring) }

        fileprivate func wakeUp() { wake.yield() }

        /// Ends ``wakeups``.
        func end() { wake.finish() }

        /// Makes the page end when its token is removed or changed; returns false when that has happened already.
        fileprivate func open(_ access: APIAccess) -> Bool {
            let stream = access.openStream(of: token) { [weak self] in
                self?.removed.store(true, ordering: .releasing)
                self?.end()
            }
            self.stream.withLock { $0 = stream }
            return stream != nil
        }

        fileprivate func close() { stream.withLock { $0.take() }?.close() }
    }

    struct State {
        var ring = EventRing(after: 0)
        /// Whether the store's events are read.
        var isFollowing = false
        /// The time of the last request for events, or of the last check that found a follower.
        fileprivate var usedAt = ContinuousClock.now
        var isClosed = false
        /// The number of the source whose events the ring has.
        fileprivate var source = 0
        /// The last record that was read; `unsent` are the records whose events wait for a line in a
        /// conversation's file.
        var last: UInt64 = 0
        var unsent: Set<UInt64> = []
        /// The last record of which every event is in the ring.
        var through: UInt64 = 0
        fileprivate var channels: [EventFilter: Channel] = [:]
        fileprivate var pages: [UInt64: Page] = [:]
        fileprivate var lastPage: UInt64 = 0
    }

    /// The pause between two writes to a follower.
    static let interval = Duration.milliseconds(50)
    /// The pause between two comments, which keep idle connections open.
    static let heartbeat = Duration.seconds(15)
    /// How long events are read after the last follower has left.
    static let unusedTime = Duration.seconds(300)
    /// The limits for one token: its different filters, its pages at a time, and its streams.
    static let maximumChannels = 32
    static let maximumPages = 16
    static let maximumStreams = 8192
    /// The bytes of events after which one step of sending under the lock ends.
    private static let stepBytes = 256 << 10

    /// The record numbers as a token of all businesses sees them.
    let numbers: RecordNumbers
    let store: Store
    let access: APIAccess
    /// The maximum number of streams of one token.
    private let maximumStreams: Int
    /// Limits the followers that read the journal at the same time.
    let turns = JournalTurns()
    /// Reads parts of the journal, for each token on its own threads.
    let readers = TokenExecutors()
    private let state = Mutex(State())
    private let pump: EventPump
    /// A stream that ends when a stop of the server begins.
    private let stopping = AsyncStream.makeStream(of: Void.self)
    private let logger: Logger

    init(
        _ store: Store, _ access: APIAccess, maximumStreams: Int = EventHub.maximumStreams, logger: Logger
    ) {
        self.maximumStreams = maximumStreams
        self.store = store
        numbers = RecordNumbers(key: store.recordKey, store: store.identity)
        self.access = access
        self.logger = logger
        pump = EventPump(store)
    }

    /// Begins to read the store's events for a follower, unless they are read already.
    ///
    /// Each request for events calls it before it looks for its place.
    func begin() async {
        let isFollowing = state.withLock { state in
            state.usedAt = .now
            return state.isFollowing || state.isClosed
        }
        if isFollowing { return }
        await pump.exclusively { [self] in
            guard state.withLock({ !$0.isFollowing && !$0.isClosed }) else { return }
            let begin = await pump.begin()
            state.withLock { state in
                state.replaceRing(begin)
                state.isFollowing = true
            }
            // A wakeup that came before `isFollowing` was true had no effect, so wake up again.
            store.wakeEvents()
        }
    }

    /// Stops reading the store's events when there is no follower, and none came for `time`.
    func endUnused(after time: Duration = EventHub.unusedTime) async {
        await pump.exclusively { [self] in
            let ends = state.withLock { state in
                if !state.channels.isEmpty || !state.pages.isEmpty { state.usedAt = .now }
                guard state.isFollowing, .now - state.usedAt >= time else { return false }
                state.isFollowing = false
                return true
            }
            if ends { store.endEvents() }
        }
    }

    /// Sends events until a stop begins, or the task is cancelled.
    func run(healthOf registry: HandlerRegistry) async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { for await _ in self.stopping.stream {} }
            group.addTask {
                for await _ in self.store.eventWakeups {
                    await self.publish()
                    // A stop of the server cancels this sleep.
                    try? await Task.sleep(for: Self.interval)
                    if Task.isCancelled { return }
                }
            }
            group.addTask { await self.watch(registry) }
            group.addTask {
                // A stop of the server cancels this sleep.
                while (try? await Task.sleep(for: Self.heartbeat)) != nil {
                    self.sendComments()
                    await self.endUnused()
                }
            }
            await group.next()
            group.cancelAll()
        }
    }

    /// Sends changes of the handlers' health while there are followers, until the task is cancelled.
    private func watch(_ registry: HandlerRegistry) async {
        var known: [BusinessID: String] = [:]
        // A stop of the server cancels this sleep.
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

    /// Reads and sends the new events; ends all streams when changes were lost, so that clients resume.
    func publish() async {
        guard state.withLock({ $0.isFollowing }) else { return }
        guard let batch = await pump.next() else {
            logger.warning(
                "clients of the event stream read too slowly and are disconnected; they resume from the journal"
            )
            await pump.exclusively { [self] in
                // Reading may have ended meanwhile.
                guard state.withLock({ $0.isFollowing }) else { return }
                let begin = await pump.begin()
                let channels = state.withLock { state in
                    state.replaceRing(begin)
                    return state.removeChannels()
                }
                for channel in channels { channel.end() }
            }
            return
        }
        var rest = batch.events[...]
        repeat {
            var bytes = 0
            let step = rest.prefix { event in
                defer { bytes += event.sizeBytes }
                return bytes < Self.stepBytes
            }
            rest = rest.dropFirst(step.count)
            send(step, of: batch, isLast: rest.isEmpty)
        } while !rest.isEmpty
        for placed in batch.events where placed.event.name == .messageReceived {
            if let typing = TransientEvent(typingOf: placed.event) { send(typing) }
        }
    }

    /// Adds events to the ring, and sends them to their followers.
    ///
    /// Events are rendered once, and joined for each filter, before the lock is acquired, because the HTTP shards wait
    /// for it too.
    private func send(_ events: ArraySlice<PlacedEvent>, of batch: EventPump.Batch, isLast: Bool) {
        let slugs = access.slugs
        let render = { [numbers] (token: APIToken) in
            events.compactMap { placed in
                slugs[placed.event.business].map {
                    RenderedEvent(placed, in: numbers.seen(by: token), business: $0)
                }
            }
        }
        let filters = state.withLock { state in
            state.channels.filter { $0.value.broadcast.subscriberCount > 0 }.map(\.key)
        }
        var texts: [EventFilter: [UInt8]] = [:]
        // Two texts of each event: one for tokens that see sealed numbers, and one for the others.
        for group in Dictionary(grouping: filters, by: { $0.token.businesses == nil }).values {
            guard let token = group.first?.token else { continue }
            let rendered = render(token)
            for filter in group { texts[filter] = RenderedEvent.text(of: rendered, for: filter) }
        }
        state.withLock { state in
            // A new source may have replaced the ring meanwhile; these events do not belong in the new ring.
            guard state.source == batch.source else { return }
            for event in events { state.ring.append(event) }
            // `last` moves with the first part of the batch, because all of it was read. `through` moves with
            // the last part, because then the ring has all events of the batch.
            state.last = batch.last
            if isLast { state.set(batch) }
            guard !events.isEmpty else { return }
            for (filter, channel) in state.channels where channel.broadcast.subscriberCount > 0 {
                // The first follower of a filter may have subscribed after the texts were joined.
                channel.broadcast.send(
                    texts[filter] ?? RenderedEvent.text(of: render(filter.token), for: filter))
            }
            for page in state.pages.values { page.wakeUp() }
        }
    }

    /// Sends a comment to every follower, to keep its connection open, and removes channels without followers.
    private func sendComments() {
        let unused = state.withLock { state in
            for (filter, channel) in state.channels {
                channel.broadcast.send(EventText.comment(state.through, in: numbers(for: filter)))
            }
            let unused = state.channels.filter { $0.value.isUnused }
            for filter in unused.keys { state.channels[filter] = nil }
            return unused.values
        }
        for channel in unused { channel.close() }
    }

    /// Ends all streams and pages; called when the server begins to stop.
    func stop() {
        let (channels, pages) = state.withLock { state in
            state.isClosed = true
            return (state.removeChannels(), state.pages.values)
        }
        for channel in channels { channel.end() }
        for page in pages { page.end() }
        turns.close()
        stopping.continuation.finish()
    }
}

/// The functions that streams and pages call.
extension EventHub {
    /// Returns the channel of a filter and adds a follower to it; the caller must call ``Channel/run(_:)``
    /// for the follower.
    ///
    /// Throws a problem when the token has too many filters or streams, when it was removed, and when the
    /// server stops.
    func channel(for filter: EventFilter) throws(APIProblem) -> Channel {
        let (channel, isNew) = try state.withLock { state throws(APIProblem) in
            guard !state.isClosed, state.isFollowing else {
                throw APIProblem(.unavailable, "the server stops")
            }
            state.usedAt = .now
            let own = state.channels.filter { $0.key.token == filter.token }
            guard own.values.reduce(0, { $0 + $1.followerCount }) < maximumStreams else {
                throw APIProblem(.unavailable, "the token has too many open streams")
                    .field("Retry-After", "15")
            }
            if let channel = own[filter] {
                channel.arriving.add(1, ordering: .relaxed)
                return (channel, false)
            }
            guard own.count < Self.maximumChannels else {
                throw APIProblem(.unavailable, "the token follows too many different filters")
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

    /// Reads or changes the state under its lock; `body` must be short.
    func withState<Result: Sendable>(_ body: (inout State) -> Result) -> Result {
        state.withLock { body(&$0) }
    }

    /// The record numbers as the token of a filter sees them.
    func numbers(for filter: EventFilter) -> RecordNumbers { numbers.seen(by: filter.token) }

    /// The slug of an event's business, if the event has a wanted type and the token may see it.
    func slug(of event: StoreEvent, for filter: EventFilter) -> String? {
        access.slugs[event.business].flatMap { filter.accepts(event.name.rawValue, of: $0) ? $0 : nil }
    }

    /// The text of the events that a filter accepts.
    func text(of events: [PlacedEvent], for filter: EventFilter) -> [UInt8] {
        var text: [UInt8] = []
        for placed in events {
            if let slug = slug(of: placed.event, for: filter) {
                EventText.append(placed, in: numbers(for: filter), business: slug, to: &text)
            }
        }
        return text
    }

    /// Sends an event that is not kept and has no place; only followers at the end of the ring get it.
    func send(_ event: TransientEvent) {
        guard let slug = access.slugs[event.business] else { return }
        let text = EventText.transient(event, business: slug)
        state.withLock { state in
            for (filter, channel) in state.channels where filter.accepts(event.name.rawValue, of: slug) {
                if channel.broadcast.subscriberCount > 0 { channel.broadcast.send(text) }
            }
        }
    }

    /// Registers a page, which the caller must end with ``end(_:)``.
    ///
    /// Throws a problem when the token has too many pages, when the token was removed, and when the server
    /// stops.
    func beginPage(of token: APIToken) throws(APIProblem) -> Page {
        let page = try state.withLock { state throws(APIProblem) in
            guard !state.isClosed else { throw APIProblem(.unavailable, "the server is stopping") }
            guard state.pages.values.count(where: { $0.token.name == token.name }) < Self.maximumPages else {
                throw APIProblem(.unavailable, "too many pages of the token wait for events")
                    .field("Retry-After", "1")
            }
            state.lastPage += 1
            let page = Page(state.lastPage, of: token)
            state.pages[page.id] = page
            return page
        }
        guard page.open(access) else {
            end(page)
            throw APIProblem(.unauthenticated, "the token was removed")
        }
        return page
    }

    /// Removes a page after it is answered.
    func end(_ page: Page) {
        state.withLock { $0.pages[page.id] = nil }
        page.close()
    }
}

extension EventHub.State {
    /// Replaces the ring with an empty one for the events after this batch.
    fileprivate mutating func replaceRing(_ batch: EventPump.Batch) {
        ring = EventRing(after: batch.last, replacing: ring)
        source = batch.source
        set(batch)
    }

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

/// Reads the store's events on a separate queue, because reading an event may block on a file.
actor EventPump {
    /// Events that were read, with the state of their source after reading.
    struct Batch: Sendable {
        /// The number of the source: 1 for the first, and one more each time that reading begins again.
        let source: Int
        let events: [PlacedEvent]
        let last: UInt64
        let unsent: Set<UInt64>
        let through: UInt64
    }

    private nonisolated let executor = QueueExecutor(label: "balloon.events")
    private let store: Store
    private var source: EventSource?
    private var sourceNumber = 0
    /// The latest operation that begins or ends the reading.
    private var latest: Task<Void, Never>?

    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe executor.asUnownedSerialExecutor() }

    init(_ store: Store) { self.store = store }

    /// Runs operations that begin or end the reading one at a time.
    func exclusively(_ operation: @escaping @Sendable () async -> Void) async {
        let task = Task { [latest] in
            await latest?.value
            await operation()
        }
        latest = task
        await task.value
    }

    /// Begins to follow the store's events, also again after changes were lost; returns a batch without
    /// events.
    func begin() async -> Batch {
        source = await store.followEvents()
        sourceNumber += 1
        return batch([])
    }

    /// Returns the events that are due; nil when changes were lost, so that the caller must begin again.
    func next() -> Batch? {
        guard let events = source?.next() else { return nil }
        return batch(events)
    }

    private func batch(_ events: [PlacedEvent]) -> Batch {
        Batch(
            source: sourceNumber, events: events, last: source?.last ?? 0, unsent: source?.unsent ?? [],
            through: source?.through ?? 0)
    }
}
