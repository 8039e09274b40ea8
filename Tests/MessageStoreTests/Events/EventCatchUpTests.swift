import BalloonPOSIX
import BusinessMessages
import Testing

@testable import MessageStore

/// Events of the past, read in parts.
@Suite struct EventCatchUpTests {
    let directory = StoreDirectory()

    private static let nothing = EventExclusion(keys: [], records: [])

    /// A store with these messages, each in its own segment.
    private func store(_ ids: [String]) async throws -> Store {
        let store = try directory.open { $0.maximumSegmentBytes = 1 }
        for id in ids { #expect(await store.append(message(id)) == .stored) }
        await store.rest()
        return store
    }

    @Test func `an event about a message of an earlier segment has the message's conversation`() async throws
    {
        let store = try await store(["m1"])
        let delivery = try await store.lease()
        for id in ["m2", "m3"] { #expect(await store.append(message(id)) == .stored) }
        let start = store.journal.lastRecord
        let reply = DecidedReply(id: MessageID("r1"), kind: .text, message: Array(#"{"id":"r1"}"#.utf8))
        try await store.decide(delivery, DecidedOutcome(.handled, replies: [reply]))
        try await store.settle(try #require(store.leaseReply()), .accepted(status: 200))
        await store.rest()
        #expect(try JournalReader(directory.journal).segments.count > 3)
        var past = try store.pastEvents(
            after: start, through: store.journal.lastRecord, excluding: Self.nothing)
        let events = try past.readAll()
        #expect(events.map(\.event.name) == [.messageQueued, .messageAccepted])
        #expect(Set(events.map(\.event.conversation)) == [ConversationPath.name(of: customer)])
        await store.close()
    }

    @Test func `a catch-up without wanted events moves to the last record`() async throws {
        let store = try await store(["m1", "m2", "m3"])
        let last = store.journal.lastRecord
        var past = try store.pastEvents(after: 0, through: last, excluding: Self.nothing) { _ in false }
        var part = try past.next()
        while !part.isLast { part = try past.next() }
        #expect(part.events.isEmpty && part.through == last)
        await store.close()
    }

    @Test func `a part has about 64 KiB, and the next part continues after it`() async throws {
        let store = try directory.open()
        let text = String(repeating: "x", count: 20_000)
        for number in 1...20 { #expect(await store.append(message("m\(number)", text: text)) == .stored) }
        await store.rest()
        let last = store.journal.lastRecord
        var past = try store.pastEvents(after: 0, through: last, excluding: Self.nothing)
        let first = try past.next()
        #expect(first.events.count == 4 && !first.isLast)
        #expect(first.through == first.events.last?.through)
        // A new reader that begins after the first part reads the same remaining events.
        var later = try store.pastEvents(after: first.through, through: last, excluding: Self.nothing)
        let rest = try past.readAll()
        #expect(rest.map(\.event.sequence) == Array(5...20))
        #expect(try later.readAll().map(\.event.key) == rest.map(\.event.key))
        await store.close()
    }

    @Test func `a line beyond the searched bytes is omitted, and found by a search from nearby`() async throws
    {
        let store = try directory.open()
        let ids = (1...20).map { "m\($0)" }
        let text = String(repeating: "x", count: 1000)
        for id in ids { #expect(await store.append(message(id, text: text)) == .stored) }
        await store.rest()
        let key = ConversationKey(business: business, customer: customer)
        func find(_ line: LineIdentity, from place: Int? = nil, maximumBytes: Int = 1 << 20) throws
            -> FoundLines
        {
            var search = try LineSearch(
                for: [line], in: key, of: DataDirectory(path: directory.path), from: place,
                maximumBytes: maximumBytes)
            return try search.finish()
        }
        let records = try directory.records("message").compactMap { $0["record"]?.int.map(UInt64.init) }
        let wanted = try #require(records.dropFirst().first.map { LineIdentity(record: $0, reply: nil) })
        let first = try #require(records.first.map { LineIdentity(record: $0, reply: nil) })
        let place = try #require(try find(first).place)
        let far = try find(wanted, maximumBytes: 3000)
        #expect(far.lines.isEmpty && !far.isComplete)
        let near = try find(wanted, from: place, maximumBytes: 3000)
        #expect(near.lines[wanted]?.sequence == 2)
        let event = StoreEvent.received(wanted.record, in: key)
        #expect(event.completed(in: far).isTruncated)
        #expect(!event.completed(in: near).isTruncated)
        await store.close()
    }

    @Test func `a part reads a bounded number of bytes of all files together`() async throws {
        let store = try directory.open()
        let text = String(repeating: "x", count: 20_000)
        for name in 0..<8 {
            for number in 0..<10 {
                let message = message("\(name)-\(number)", from: CustomerID("urn:mbid:\(name)"), text: text)
                #expect(await store.append(message) == .stored)
            }
        }
        await store.rest()
        let last = store.journal.lastRecord
        // The first line of each file, for which all of it is read.
        func catchUp() throws -> EventCatchUp {
            try store.pastEvents(after: 0, through: last, excluding: Self.nothing) {
                $0.message?.rawValue.hasSuffix("-0") ?? true
            }
        }
        var whole = try catchUp()
        var past = try catchUp()
        past.maximumReadBytes = 250_000
        var events: [PlacedEvent] = []
        var (most, before) = (0, 0)
        while true {
            let part = try past.next()
            events += part.events
            most = max(most, past.readBytes - before)
            before = past.readBytes
            if part.isLast { break }
        }
        // One file of 200 KB may be above the limit.
        #expect(most < 500_000 && before > 3_000_000)
        #expect(events.map(\.event) == (try whole.readAll()).map(\.event) && events.count == 8)
        await store.close()
    }

    @Test func `a part that reads an earlier segment is bounded too`() async throws {
        let store = try directory.open { $0.maximumSegmentBytes = 100_000 }
        let text = String(repeating: "x", count: 20_000)
        for number in 1...9 { #expect(await store.append(message("m\(number)", text: text)) == .stored) }
        await store.rest()
        let delivery = try await store.lease()
        let start = store.journal.lastRecord
        let reply = DecidedReply(id: MessageID("r1"), kind: .text, message: Array(#"{"id":"r1"}"#.utf8))
        try await store.decide(delivery, DecidedOutcome(.handled, replies: [reply]))
        await store.rest()
        var past = try store.pastEvents(
            after: start, through: store.journal.lastRecord, excluding: Self.nothing)
        past.maximumReadBytes = 30_000
        var (parts, events) = (0, [StoreEvent.Name]())
        while true {
            let (before, part) = (past.readBytes, try past.next())
            #expect(past.readBytes - before < 60_000)
            events += part.events.map(\.event.name)
            parts += 1
            if part.isLast { break }
        }
        #expect(parts > 2 && events == [.messageQueued])
        await store.close()
    }

    @Test func `a cancelled task reads no further part`() async throws {
        let store = try await store(["m1"])
        let last = store.journal.lastRecord
        var past = try store.pastEvents(after: 0, through: last, excluding: Self.nothing)
        let reading = Task { [past] in
            var past = past
            // Cancelled below, before it reads.
            while !Task.isCancelled { await Task.yield() }
            return try past.next()
        }
        reading.cancel()
        await #expect(throws: CancellationError.self) { try await reading.value }
        #expect(try past.readAll().count == 1)
        await store.close()
    }

    @Test func `a search of one file pauses at its budget and continues`() async throws {
        let store = try directory.open()
        let text = String(repeating: "x", count: 50_000)
        for number in 1...60 { #expect(await store.append(message("m\(number)", text: text)) == .stored) }
        await store.rest()
        let key = ConversationKey(business: business, customer: customer)
        let records = try directory.records("message").compactMap { $0["record"]?.int.map(UInt64.init) }
        let first = LineIdentity(record: try #require(records.first), reply: nil)
        let last = LineIdentity(record: try #require(records.last), reply: nil)
        for (wanted, place, sequence) in [(first, nil, 1), (last, 0, 60), (first, 1_500_000, 1)] {
            var search = try LineSearch(
                for: [wanted], in: key, of: DataDirectory(path: directory.path), from: place)
            var calls = 0
            repeat {
                calls += 1
                var budget = 1
                if try search.advance(&budget) { break }
            } while calls < 100
            #expect(calls > 2)
            #expect(search.result.lines[wanted]?.sequence == sequence)
        }
        await store.close()
    }

    @Test func `a conversation whose file cannot be read has events without lines, and ends no catch-up`()
        async throws
    {
        let store = try await store(["m1"])
        let key = ConversationKey(business: business, customer: customer)
        let path = DataDirectory(path: directory.path).conversations + "/" + ConversationPath.file(key)
        try Directory.remove(path)
        try Directory.make(path)
        var past = try store.pastEvents(
            after: 0, through: store.journal.lastRecord, excluding: Self.nothing)
        let events = try past.readAll()
        #expect(events.map(\.event.name) == [.messageReceived])
        #expect(events.allSatisfy { $0.event.line == nil && $0.event.isTruncated })
        await store.close()
    }

    @Test func `the first record of the journal is known without reading it`() async throws {
        let store = try await store(["m1", "m2"])
        #expect(store.firstRecord == (try JournalReader(directory.journal).segments.first))
        await store.close()
    }
}

extension EventCatchUp {
    /// The events of all remaining parts.
    mutating func readAll() throws -> [PlacedEvent] {
        var events: [PlacedEvent] = []
        while true {
            let part = try next()
            events += part.events
            if part.isLast { return events }
        }
    }
}
