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
    private func hub(messages: Int) async throws -> EventHub {
        let store = try Store.open(
            StoreConfiguration(directory: directory.file("data")), logger: log.logger)
        store.startRecording { [recorded] in
            let result = try store.write($0, as: .text)
            recorded.add()
            return result
        }
        let body = String(repeating: "x", count: 20_000)
        for number in 1...messages {
            let message = ReceivedMessage(
                business: ServerUnderTest.business, customer: CustomerID("urn:mbid:c"),
                id: MessageID("m\(number)"),
                message: Array(#"{"id":"m\#(number)","type":"text","body":"\#(body)"}"#.utf8))
            await withCheckedContinuation { continuation in
                store.append(message) { _ in continuation.resume() }
            }
        }
        #expect(await eventually { recorded.count == messages })
        let hub = EventHub(store, access, logger: log.logger)
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
        for _ in 0..<JournalTurn.maximumCount + 4 {
            var cursor = EventCursor(after: "0")
            // The last followers get a turn when the first ones have lost theirs.
            let part = try await cursor.next(of: hub, filter(reader), patience: .seconds(60), arrive: {})
            guard case .events = part else { throw TestFailure("no part") }
            stalled.append(cursor)
        }
        #expect(try await follow(EventCursor(after: "0"), of: hub, filter(other)) == 20)
        // A follower that lost its turn continues at its place.
        let rest = try await follow(stalled[0], of: hub, filter(reader))
        #expect((16...20).contains(rest), "\(rest)")
        hub.stop()
        await hub.store.close()
    }

    @Test func `a follower whose turn does not begin in time gets the part waiting`() async throws {
        let hub = try await hub(messages: 20)
        for _ in 0..<JournalTurn.maximumCount { #expect(await hub.turns.acquire()) }
        var late = EventCursor(after: "0")
        let part = try await late.next(of: hub, filter(reader), patience: .milliseconds(1), arrive: {})
        guard case .waiting = part else { throw TestFailure("a turn") }
        hub.stop()
        await #expect(throws: CancellationError.self) {
            _ = try await late.next(of: hub, filter(reader), patience: .seconds(60), arrive: {})
        }
        await hub.store.close()
    }

    @Test func `the place of a follower also advances over events that it does not want`() async throws {
        let hub = try await hub(messages: 20)
        var cursor = EventCursor(after: "0")
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
