import BalloonHTTP
import BalloonPOSIX
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
        let arriving = Atomic(0)
        private let ended = Atomic(false)
        /// The tasks that bring followers to the end of the ring, by number.
        private let ways = Mutex<(last: UInt64, tasks: [UInt64: Task<Void, Never>])>((0, [:]))

        /// Whether the channel has ended, because its token was removed or the server stops.
        var hasEnded: Bool { ended.load(ordering: .acquiring) }

        func end() {
            ended.store(true, ordering: .releasing)
            broadcast.finish()
            for way in ways.withLock({ Array($0.tasks.values) }) { way.cancel() }
        }

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

        /// The number of followers at the end of the ring and on their way to it.
        var followerCount: Int {
            broadcast.subscriberCount + arriving.load(ordering: .relaxed)
        }
    }

    /// A request for a page of events, until it is answered.
    final class Page: Sendable {
        let wakeups: AsyncStream<Void>
        let id: UInt64
        let token: APIToken
        private let wake: AsyncStream<Void>.Continuation

        init(_ id: UInt64, of token: APIToken) {
            self.id = id
            self.token = token
            (wakeups, wake) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
        }

        func wakeUp() { wake.yield() }

        /// Ends ``wakeups``.
        func end() { wake.finish() }
    }

    struct State {
        var ring = EventRing(after: 0)
        /// Whether the store's events are read.
        var isFollowing = false
        /// The time of the last request for events, or of the last check that found a follower.
        var usedAt = ContinuousClock.now
        var isClosed = false
        /// How far the store's events were read into the ring.
        var progress = EventPump.Progress()
        var channels: [EventFilter: Channel] = [:]
        var pages: [UInt64: Page] = [:]
        var lastPage: UInt64 = 0
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
    let maximumStreams: Int
    /// Limits the followers that read the journal at the same time.
    let turns = JournalTurns()
    /// Reads parts of the journal, for each token on its own threads.
    let readers = TokenExecutors()
    let state = Mutex(State())
    private let pump: EventPump
    /// A stream that ends when a stop of the server begins.
    let stopping = AsyncStream.makeStream(of: Void.self)
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
        guard let (events, progress) = await pump.next() else {
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
        var rest = events[...]
        repeat {
            var bytes = 0
            let step = rest.prefix { event in
                defer { bytes += event.sizeBytes }
                return bytes < Self.stepBytes
            }
            rest = rest.dropFirst(step.count)
            send(step, progress, isLast: rest.isEmpty)
        } while !rest.isEmpty
        for placed in events where placed.event.name == .messageReceived {
            if let typing = TransientEvent(typingOf: placed.event) { send(typing) }
        }
    }

    /// Adds events to the ring, and sends them to their followers.
    ///
    /// Events are rendered once, and joined for each filter, before the lock is acquired, because the HTTP shards wait
    /// for it too.
    func send(_ events: ArraySlice<PlacedEvent>, _ progress: EventPump.Progress, isLast: Bool) {
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
            guard state.progress.source == progress.source else { return }
            for event in events { state.ring.append(event) }
            // `last` moves with the first part of the batch, because all of it was read. `through` moves with
            // the last part, because then the ring has all events of the batch.
            state.progress.last = progress.last
            if isLast { state.progress = progress }
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
        state.withLock { state in
            for (filter, channel) in state.channels {
                channel.broadcast.send(EventText.comment(state.progress.through, in: numbers(for: filter)))
            }
            state.channels = state.channels.filter { $0.value.followerCount > 0 }
        }
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

extension EventHub.State {
    /// Replaces the ring with an empty one for the events after `begin`.
    mutating func replaceRing(_ begin: EventPump.Progress) {
        ring = EventRing(after: begin.last, replacing: ring)
        progress = begin
    }

    mutating func removeChannels() -> [EventHub.Channel] {
        defer { channels = [:] }
        return Array(channels.values)
    }
}
