import BalloonHTTP
import BalloonPOSIX
import BusinessMessages
import HandlerKit
import MessageStore
import ServerTestSupport
import Synchronization
import TestSupport
import Testing

@testable import MessageServer

/// Followers of a hub without HTTP: their turns, limits and tokens.
@Suite struct EventHubTests {
    private let log = LogCollector()
    private let directory = TemporaryDirectory()
    private let recorded = Counter()
    private let access: APIAccess
    private let reader: APIToken
    private let other: APIToken

    init() throws {
        let tokens = TestTokens.configuration.tokens
        reader = try #require(tokens.first { $0.name == "reader" })
        other = try #require(tokens.first { $0.name == "all" })
        access = APIAccess(TestTokens.configuration, businesses: [Self.settings], isSecure: false) { nil }
    }

    private static let settings = BusinessConfiguration(
        slug: "one", businessID: ServerUnderTest.business, name: "One",
        handler: .builtin(name: "none", configuration: nil))

    private func filter(_ token: APIToken, types: Set<String>? = nil) -> EventFilter {
        EventFilter(token: token, businesses: nil, types: types)
    }

    /// A hub over a journal with messages of 20 KiB that are older than the ring.
    ///
    /// `unrecorded` is the number of a message whose line is not written; each message is from another customer then.
    private func hub(
        messages: Int, unrecorded: Int? = nil, maximumStreams: Int = EventHub.maximumStreams
    ) async throws -> EventHub {
        let store = try Store.open(
            StoreConfiguration(directory: directory.file("data")), logger: log.logger)
        let recorded = Counter()
        store.startRecording {
            if unrecorded != nil, $0.id == MessageID("m\(unrecorded ?? 0)") {
                throw TestFailure("unrecorded")
            }
            let result = try store.write($0, as: .text)
            recorded.add()
            return result
        }
        let body = String(repeating: "x", count: 20_000)
        for number in 1...messages {
            let message = ReceivedMessage(
                business: ServerUnderTest.business,
                customer: CustomerID("urn:mbid:c" + (unrecorded == nil ? "" : "\(number)")),
                id: MessageID("m\(number)"),
                message: Array(#"{"id":"m\#(number)","type":"text","body":"\#(body)"}"#.utf8))
            await withCheckedContinuation { continuation in
                store.append(message) { _ in continuation.resume() }
            }
        }
        #expect(await eventually { recorded.count == messages - (unrecorded == nil ? 0 : 1) })
        let hub = EventHub(store, access, maximumStreams: maximumStreams, logger: log.logger)
        await hub.begin()
        return hub
    }

    /// Reads until the end of the ring; returns the number of events.
    private func follow(_ cursor: EventCursor, of hub: EventHub, _ filter: EventFilter) async throws -> Int {
        var (cursor, count) = (cursor, 0)
        while true {
            switch try await cursor.next(of: hub, filter, patience: .seconds(60), arrive: {}) {
            case .events(let events): count += events.count
            case .waiting, .reset: return -1
            case .end: return count
            }
        }
    }

    @Test func `followers that do not read their next part lose their turn to other followers`() async throws
    {
        let hub = try await hub(messages: 20)
        var stalled: [EventCursor] = []
        for _ in 0..<JournalTurns.maximumPerToken + 2 {
            var cursor = hub.cursor(after: 0)
            // The last followers get a turn when the first ones have lost theirs.
            let part = try await cursor.next(of: hub, filter(reader), patience: .seconds(60), arrive: {})
            guard case .events = part else { throw TestFailure("no part") }
            stalled.append(cursor)
        }
        #expect(try await follow(hub.cursor(after: 0), of: hub, filter(reader)) == 20)
        // A stalled one continues at its place.
        let rest = try await follow(stalled[0], of: hub, filter(reader))
        #expect((16...20).contains(rest), "\(rest)")
        hub.stop()
        await hub.store.close()
    }

    @Test func `a follower whose turn does not begin in time gets the part waiting`() async throws {
        let hub = try await hub(messages: 20)
        for number in 0..<JournalTurns.maximumCount {
            #expect(await hub.turns.acquire("\(number / JournalTurns.maximumPerToken)") != nil)
        }
        var late = hub.cursor(after: 0)
        let part = try await late.next(of: hub, filter(reader), patience: .milliseconds(1), arrive: {})
        guard case .waiting = part else { throw TestFailure("a turn") }
        hub.stop()
        await #expect(throws: CancellationError.self) {
            _ = try await late.next(of: hub, filter(reader), patience: .seconds(60), arrive: {})
        }
        await hub.store.close()
    }

    @Test func `the turns of one token leave turns to others, and its waiting followers are bounded`()
        async throws
    {
        let hub = try await hub(messages: 20)
        var (turns, permits): ([JournalTurns.Turn], [OperationPermit]) = ([], [])
        for _ in 0..<JournalTurns.maximumPerToken {
            permits.append(try hub.turns.enter(reader.name))
            turns.append(try #require(await hub.turns.acquire(reader.name)))
        }
        var late = hub.cursor(after: 0)
        let part = try await late.next(of: hub, filter(reader), patience: .milliseconds(1), arrive: {})
        guard case .waiting = part else { throw TestFailure("a turn") }
        #expect(try await follow(hub.cursor(after: 0), of: hub, filter(other)) == 20)
        // The late one has entered too.
        for _ in JournalTurns.maximumPerToken + 1..<JournalTurns.maximumFollowers {
            permits.append(try hub.turns.enter(reader.name))
        }
        var refused = hub.cursor(after: 0)
        let problem = #expect(throws: APIProblem.self) { try refused.begin(of: hub, filter(reader)) }
        #expect(problem?.status == .serviceUnavailable)
        #expect(problem?.fields.map(\.name) == ["Retry-After"])
        var admitted = hub.cursor(after: 0)
        try admitted.begin(of: hub, filter(other))
        withExtendedLifetime(permits) {}
        for turn in turns { hub.turns.release(turn) }
        #expect(try await follow(late, of: hub, filter(reader)) == 20)
        hub.stop()
        await hub.store.close()
    }

    @Test func `a turn that ends during a read has no further part`() async throws {
        let hub = try await hub(messages: 20)
        let turn = try JournalTurn(among: hub.turns, of: reader.name)
        #expect(try await turn.begins(within: .seconds(60)))
        let resumption = hub.withState {
            $0.ring.resume(after: 0, last: $0.progress.last, first: 1, unsent: $0.progress.unsent)
        }
        guard case .journal(let last, let exclusion, _) = resumption else { throw TestFailure("no journal") }
        let part = try turn.read {
            turn.end()
            return try hub.store.pastEvents(after: 0, through: last, excluding: exclusion)
        }
        #expect(part?.events.isEmpty == false)
        #expect(try turn.read { throw TestFailure("another reader") } == nil)
        hub.stop()
        await hub.store.close()
    }

    @Test func `a token has a number of streams, and the end of a channel cancels its followers`()
        async throws
    {
        let hub = try await hub(messages: 1, maximumStreams: 2)
        let channel = try hub.channel(for: filter(reader))
        _ = try hub.channel(for: filter(reader, types: ["typing"]))
        #expect(throws: APIProblem.self) { try hub.channel(for: filter(reader)) }
        _ = try hub.channel(for: filter(other))
        let cancelled = Counter()
        let endless = AsyncStream.makeStream(of: Void.self)
        channel.run {
            // Ends when the task is cancelled.
            for await _ in endless.stream {}
            if Task.isCancelled { cancelled.add() }
        }
        channel.end()
        #expect(await eventually { cancelled.count == 1 })
        endless.continuation.finish()
        hub.stop()
        await hub.store.close()
    }

    @Test func `a reload ends the streams and pages of removed and changed tokens only`() async throws {
        let hub = try await hub(messages: 1)
        let tokens = TestTokens.configuration.tokens
        let channels = try tokens.map { try hub.channel(for: filter($0)) }
        let pages = try tokens.map { try hub.beginPage(of: $0) }
        var changed = TestTokens.configuration
        changed.tokens.removeFirst()
        changed.tokens[0].rights = [.operate]
        access.replace(with: changed, businesses: [])
        hub.endRemoved()
        #expect(channels.map(\.hasEnded) == tokens.indices.map { $0 < 2 })
        for page in pages.prefix(2) {
            let reading = Task {
                for await _ in page.wakeups {}
                return !Task.isCancelled
            }
            let hasEnded = await WaitLimit.apply(expire: { reading.cancel() }) { await reading.value }
            #expect(hasEnded, "the page of \(page.token.name)")
        }
        #expect(throws: APIProblem.self) { try hub.channel(for: filter(tokens[0])) }
        #expect(throws: APIProblem.self) { try hub.beginPage(of: tokens[1]) }
        _ = try hub.channel(for: filter(tokens[2]))
        hub.stop()
        await hub.store.close()
    }

    @Test func `a page whose place is held back tells the caller to wait`() async throws {
        let hub = try await hub(messages: 20, unrecorded: 1)
        let page = EventPage(hub: hub, filter: filter(reader), wait: .zero)
        let held = try await page.answer(hub.cursor(after: 1))
        #expect(String(decoding: held.body, as: UTF8.self).contains(".1\"}"))
        #expect(held.fields.map(\.name) == ["Retry-After"])
        #expect(try await page.answer(hub.cursor(after: 1000)).fields.isEmpty)
        hub.stop()
        await hub.store.close()
    }

    @Test func `the place of a follower moves through events that it does not want`() async throws {
        let hub = try await hub(messages: 20)
        var cursor = hub.cursor(after: 0)
        let wanted = filter(reader, types: ["delivery.deadLetter"])
        let part = try await cursor.next(of: hub, wanted, patience: .seconds(60), arrive: {})
        guard case .events(let events) = part else { throw TestFailure("no part") }
        #expect(events.isEmpty && (cursor.through ?? 0) >= 20)
        hub.stop()
        await hub.store.close()
    }

    @Test func `a token has a number of filters and pages of its own`() async throws {
        let hub = try await hub(messages: 1)
        for number in 0..<EventHub.maximumChannels {
            _ = try hub.channel(for: filter(reader, types: ["\(number)"]))
        }
        #expect(throws: APIProblem.self) { try hub.channel(for: filter(reader)) }
        _ = try hub.channel(for: filter(other))
        var pages: [EventHub.Page] = []
        for _ in 0..<EventHub.maximumPages { pages.append(try hub.beginPage(of: reader)) }
        #expect(throws: APIProblem.self) { try hub.beginPage(of: reader) }
        pages.append(try hub.beginPage(of: other))
        hub.end(pages[0])
        pages.append(try hub.beginPage(of: reader))
        for page in pages { hub.end(page) }
        hub.stop()
        await hub.store.close()
    }
}

private final class Counter: Sendable {
    private let value = Atomic(0)
    var count: Int { value.load(ordering: .acquiring) }
    func add() { value.add(1, ordering: .releasing) }
}

private struct TestFailure: Error {
    let reason: String
    init(_ reason: String) { self.reason = reason }
}

extension EventHub {
    /// A follower that has the events up to a place of this store.
    fileprivate func cursor(after place: UInt64) -> EventCursor {
        EventCursor(after: EventID.text(place, in: numbers), in: numbers)
    }
}
