import BalloonPOSIX
import BusinessMessages
import Testing

@testable import MessageStore

/// Compares lists of deliveries with a fold of the whole journal.
struct DeliveryIndexTests {
    private let directory = StoreDirectory()

    /// Every message, newest first, from the whole journal.
    private func expected(_ wanted: (JournalEvent) -> Bool = { _ in true }) throws -> [String] {
        try JournalFiles(dataDirectory: directory.path).events(where: wanted).reversed().map(describe)
    }

    private func describe(_ event: JournalEvent) -> String {
        "\(event.record) \(event.id) \(event.status) \(event.kind?.rawValue ?? "-") \(event.attempts) "
            + "\(event.replayedAs ?? 0) \(event.replies) \(event.reason ?? "")"
    }

    private func walk(_ store: Store, _ query: Store.DeliveryQuery) async throws -> [String] {
        var query = query
        var texts: [String] = []
        repeat {
            let page = try await store.deliveries(query)
            #expect(page.events.count <= query.limit)
            texts += page.events.map(describe)
            query.before = page.next
        } while query.before != nil
        return texts
    }

    /// Handles, fails, replays, drops and leaves messages, in segments of a few records each.
    private func fill(_ store: Store) async throws {
        for number in 0..<40 {
            #expect(await store.append(message("m\(number)", from: CustomerID("c\(number % 4)"))) == .stored)
            if number % 5 == 4 { continue }
            let delivery = try await store.lease()
            switch number % 4 {
            case 0: try await store.finish(delivery, result: .failed(reason: "broken \(number)"))
            default: try await store.finish(delivery, result: .unhandled)
            }
        }
        await store.journal.flush()
        let dead = try JournalFiles(dataDirectory: directory.path).events(where: \.isDeadLetter)
        let records = dead.map(\.record)
        _ = try await store.replay(Array(records.prefix(2)))
        try await store.drop(Array(records.dropFirst(2).prefix(2)))
        await store.journal.flush()
    }

    @Test(arguments: [1, 65_536])
    func `pages of deliveries and the whole journal have the same messages`(_ cached: Int) async throws {
        let store = try directory.open { $0.maximumSegmentBytes = 3000 }
        try await fill(store)
        #expect(try directory.segments().count > 3)
        var query = Store.DeliveryQuery(of: business)
        for limit in [1, 7, 200] {
            query.limit = limit
            #expect(try await walk(store, query) == expected())
        }
        query.statuses = .dead
        #expect(try await walk(store, query) == expected(\.isDeadLetter))
        query.statuses = .only(.unhandled)
        #expect(try await walk(store, query) == expected { $0.status == .unhandled })
        query.statuses = .all
        query.conversation = ConversationDigest(of: CustomerID("c1"))
        #expect(try await walk(store, query) == expected { $0.customer == CustomerID("c1") })
        query.conversation = nil
        query.kind = .form
        #expect(try await walk(store, query).isEmpty)
        query = Store.DeliveryQuery(of: BusinessID("other"))
        #expect(try await walk(store, query).isEmpty)
        await store.close()
    }

    @Test func `a message that ends between two lists has its new state in the second list`() async throws {
        let store = try directory.open { $0.maximumSegmentBytes = 3000 }
        try await fill(store)
        _ = try await store.deliveries(Store.DeliveryQuery(of: business))
        #expect(await store.append(message("late", from: CustomerID("c9"))) == .stored)
        while let delivery = store.readyDelivery(for: business) {
            try await store.finish(delivery, result: .unhandled)
        }
        #expect(try await walk(store, Store.DeliveryQuery(of: business)) == expected())
        await store.close()
    }

    @Test func `the messages of records are found, and unknown records are omitted`() async throws {
        let store = try directory.open { $0.maximumSegmentBytes = 3000 }
        try await fill(store)
        let all = try JournalFiles(dataDirectory: directory.path).events { _ in true }
        let wanted = [all[30], all[2], all[11]]
        let records = Set(wanted.map(\.record) + [1, 1_000_000])
        let found = try await store.readingIndex { index throws(StoreError) in try index.events(records) }
        #expect(found.values.map(describe).sorted() == wanted.map(describe).sorted())
        await store.close()
    }

    @Test func `the dead letters of a business are counted in memory, also after a restart`() async throws {
        var store = try directory.open { $0.maximumSegmentBytes = 3000 }
        try await fill(store)
        let dead = try JournalFiles(dataDirectory: directory.path).events(where: \.isDeadLetter)
        #expect(!dead.isEmpty)
        for _ in 0..<2 {
            #expect(store.deadLetterCount(of: business) == dead.count)
            #expect(store.deadLetterCount(of: BusinessID("other")) == 0)
            await store.close()
            store = try directory.open { $0.maximumSegmentBytes = 3000 }
        }
        await store.close()
    }

    @Test func `a delivery of one record is found with its replies, and is unknown to another business`()
        async throws
    {
        let store = try directory.open { $0.maximumSegmentBytes = 3000 }
        try await fill(store)
        for event in try JournalFiles(dataDirectory: directory.path).events(where: { _ in true }) {
            guard case .found(let trace) = try await store.delivery(event.record, of: business) else {
                Issue.record("\(event.record) is not found")
                continue
            }
            #expect(describe(trace.event) == describe(event))
            guard case .unknown = try await store.delivery(event.record, of: BusinessID("other")) else {
                Issue.record("\(event.record) is known to another business")
                continue
            }
        }
        guard case .unknown = try await store.delivery(1_000_000, of: business) else {
            Issue.record("a record that does not exist is found")
            return
        }
        await store.close()
    }

    @Test func `a walk for single records reads a complete segment without these records only once`()
        async throws
    {
        let store = try directory.open { $0.maximumSegmentBytes = 3000 }
        try await fill(store)
        // The cache keeps only the newest segment after each walk.
        let index = DeliveryIndex(directory: directory.journal, reader: store.reader, maximumEvents: 1)
        let last = try #require(
            try JournalFiles(dataDirectory: directory.path).events { _ in true }.last?.record)
        let rounds = try await index.run { index throws(StoreError) -> [Int] in
            var rounds: [Int] = []
            for _ in 0..<2 {
                // Each round of this budget reads one segment.
                var (round, position) = (1, UInt64?.some(0))
                while position != nil, round < 1000 {
                    position = try index.walk(of: [last + 1], budget: ReadBudget(maximumBytes: 1)) { _ in true
                    }
                    round += 1
                }
                rounds.append(round)
            }
            return rounds
        }
        #expect(rounds[0] > 3)
        #expect(rounds[1] <= 3)
        await store.close()
    }

    @Test func `a walk stops at its budget, and the next walk continues there`() async throws {
        let store = try directory.open { $0.maximumSegmentBytes = 3000 }
        try await fill(store)
        let index = DeliveryIndex(directory: directory.journal, reader: store.reader, maximumEvents: 1)
        let all = try JournalFiles(dataDirectory: directory.path).events { _ in true }.map(\.record)
        let records = try await index.run { index throws(StoreError) in
            var (records, position, walks) = ([UInt64](), UInt64.max, 0)
            while walks < 1000 {
                walks += 1
                let next = try index.walk(before: position, budget: ReadBudget(maximumBytes: 1)) { event in
                    records.append(event.state.record)
                    return true
                }
                guard let next else { return records }
                position = next
            }
            return []
        }
        #expect(records == all.reversed())
        await store.close()
    }

    @Test func `a trace finds the latest replay of a message`() async throws {
        let store = try directory.open { $0.maximumSegmentBytes = 3000 }
        #expect(await store.append(message("m", from: CustomerID("c"))) == .stored)
        let delivery = try await store.lease()
        try await store.finish(delivery, result: .failed(reason: "broken"))
        let replays = try await store.replay([delivery.record])
        let trace = try #require(await store.trace(of: MessageID("m"), to: business))
        #expect(trace.event.record == replays.first)
        #expect(trace.event.status == .pending)
        #expect(try await store.trace(of: MessageID("unknown"), to: business) == nil)
        await store.close()
    }
}
