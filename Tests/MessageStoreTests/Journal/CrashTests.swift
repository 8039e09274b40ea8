import BalloonPOSIX
import BusinessMessages
import MessageStore
import TestSupport
import Testing

/// Journals written by a real store and damaged at every place.
struct CrashTests {
    let directory = StoreDirectory()
    static let name = "000000000001.jsonl"

    /// Writes messages, one batch each, and returns the journal's bytes and the ends of its lines.
    private func journal(_ count: Int) async throws -> (bytes: [UInt8], ends: [Int]) {
        let store = try directory.open()
        for number in 1...count { #expect(await store.append(message("m\(number)")) == .stored) }
        let bytes = try File(directory.journal + "/" + Self.name, for: .reading).readAll()
        return (bytes, bytes.indices.filter { bytes[$0] == UInt8(ascii: "\n") }.map { $0 + 1 })
    }

    /// The ids that a store delivers from these bytes.
    private func delivered(_ bytes: [UInt8]) async throws -> [String] {
        let copy = StoreDirectory()
        try copy.prepare()
        try copy.write(bytes, to: Self.name)
        let store = try copy.open()
        var ids: [String] = []
        while store.statistics.pendingDeliveries > 0 {
            let delivery = try await store.lease()
            #expect(delivery.text == "{\"id\":\"\(delivery.id)\",\"type\":\"text\",\"body\":\"hello\"}")
            ids.append(delivery.id.rawValue)
            try await store.finish(delivery, result: .handled)
        }
        return ids
    }

    /// Flips a bit of the first message in place, because the store has the file open.
    private func damageSecondLine() throws {
        let path = directory.journal + "/" + Self.name
        let bytes = try File(path, for: .reading).readAll()
        let second = try #require(bytes.firstPosition(of: UInt8(ascii: "\n"), from: 0)) + 1
        // Write one byte alone, because the store may read the other bytes at any moment.
        try File(path, for: .overwriting).write([bytes[second + 60] ^ 1], at: second + 60)
    }

    @Test func `after a truncation at any place every message with a complete journal line is delivered`()
        async throws
    {
        let (bytes, ends) = try await journal(4)
        let lengths = Set(stride(from: 0, to: bytes.count, by: 23)).union(
            ends.flatMap { [$0 - 2, $0 - 1, $0] })
        for length in lengths.sorted() {
            // A last line that lacks only its line feed is complete.
            let whole = ends.count { $0 - 1 <= length } - 1
            let ids = try await delivered(Array(bytes.prefix(length)))
            #expect(ids == (0..<max(0, whole)).map { "m\($0 + 1)" }, "cut at \(length)")
        }
    }

    @Test func `a flipped bit before the last batch of the journal is always reported as damage`()
        async throws
    {
        let (bytes, ends) = try await journal(4)
        var reports = 0
        for position in stride(from: 3, to: bytes.count, by: 41) {
            var damaged = bytes
            damaged[position] ^= 1 << UInt8(position % 8)
            let copy = StoreDirectory()
            try copy.prepare()
            try copy.write(damaged, to: Self.name)
            let store = try copy.open()
            let damage = store.journalDamage
            if damage.isEmpty {
                #expect(position >= ends[ends.count - 2], "bit at \(position)")
                #expect(store.statistics.pendingDeliveries == 3)
            } else {
                reports += 1
                // Lines and records have the same numbers. A lost line feed affects two lines.
                let line = UInt64(ends.count { $0 <= position } + 1)
                #expect(damage.lostRecords.first?.lowerBound == line, "bit at \(position)")
                #expect(damage.lostRecords.allSatisfy { $0.upperBound <= line + 1 }, "bit at \(position)")
                #expect(store.statistics.pendingDeliveries >= 2)
            }
            await store.close()
        }
        #expect(reports > 10)
    }

    @Test func `a message with a payload reference that cannot be read back is counted as unreadable`()
        async throws
    {
        let store = try directory.open { $0.maximumCachedBytes = 0 }
        _ = await store.append(message("m1", from: CustomerID("a"), reference: true))
        _ = await store.append(message("m2", from: CustomerID("b"), reference: true))
        try damageSecondLine()
        #expect(await store.nextReference()?.id == MessageID("m2"))
        #expect(store.statistics.unreadableDeliveries == 1)
        #expect(store.statistics.pendingDeliveries == 2)
        #expect(store.statistics.parkedDeliveries == 0)
    }

    @Test
    func `an unreadable message blocks its conversation and is counted, and delays no other conversation`()
        async throws
    {
        let store = try directory.open { $0.maximumCachedBytes = 0 }
        _ = await store.append(message("m1", from: CustomerID("a")))
        _ = await store.append(message("m2", from: CustomerID("b")))
        try damageSecondLine()
        #expect(try await store.lease().id == MessageID("m2"))
        // A message that was recorded before the damage is read again for its handler only.
        let reading = Task { await store.nextDelivery(for: business) }
        await directory.log.first { $0.hasPrefix("critical") }
        #expect(await eventually { store.statistics.unreadableDeliveries == 1 })
        #expect(store.statistics.pendingDeliveries == 2)
        #expect(directory.log.lines.contains { $0.hasPrefix("critical") })
        store.stopLeasing()
        #expect(await reading.value == nil)
    }

    @Test func `messages at the limits of size, depth and number of values are unchanged after a restart`()
        async throws
    {
        let deep = String(repeating: "[", count: 126) + String(repeating: "]", count: 126)
        let many = "[" + String(repeating: "1,", count: 200_000) + "1]"
        let texts = ["{\"deep\":\(deep)}", "{\"many\":\(many)}"]
        let store = try directory.open()
        for (number, text) in texts.enumerated() {
            let received = ReceivedMessage(
                business: business, customer: CustomerID("\(number)"), id: MessageID("\(number)"),
                message: Array(text.utf8))
            #expect(await store.append(received) == .stored)
        }
        await store.close()
        let reopened = try directory.open()
        // Messages of different conversations may be leased in any order.
        let leased = [try await reopened.lease().text, try await reopened.lease().text]
        #expect(Set(leased) == Set(texts))
    }

    @Test func `a conversation line whose write failed is written by the next attempt`() async throws {
        let store = try directory.open()
        try AtomicFile.write([], to: directory.path + "/conversations/b")
        _ = await store.append(message("m1"))
        await directory.log.first { $0.contains("a conversation's line could not be written") }
        try Directory.remove(directory.path + "/conversations/b")
        let again = try await store.lease()
        try await store.decide(again, DecidedOutcome(.handled))
        try await store.finish(again, result: .handled)
        await store.close()
        // A checkpoint was made, because all lines are on disk by then.
        #expect(try directory.records("checkpoint").count == 1)
        #expect(directory.log.lines.contains { $0.hasPrefix("error") })

        let file = ConversationFiles(dataDirectory: directory.path)
        #expect(try file.lines(of: business, customer).map(\.id.rawValue) == ["m1"])
        let reopened = try directory.open()
        await reopened.close()
        #expect(try file.lines(of: business, customer).map(\.id.rawValue) == ["m1"])
        #expect(try directory.records("checkpoint").count == 1)
    }

    @Test func `a call after the store was closed throws and changes nothing`() async throws {
        let store = try directory.open()
        _ = await store.append(message("m1"))
        _ = await store.append(message("m2", from: CustomerID("other"), reference: true))
        let delivery = try await store.lease()
        let reference = try #require(await store.nextReference())
        await store.close()
        await #expect(throws: StoreError.closed) {
            try await store.decide(delivery, DecidedOutcome(.handled))
        }
        await #expect(throws: StoreError.closed) {
            try await store.resolve(reference, .resolved(message: Array("{}".utf8)))
        }
        #expect(throws: StoreError.closed) {
            try store.recentLines(of: business, customer, maximum: 1)
        }
        await #expect(throws: StoreError.closed) { try await store.finish(delivery, result: .handled) }
        #expect(try directory.records("outcome").isEmpty)
        let reopened = try directory.open()
        #expect(reopened.statistics.pendingDeliveries == 2)
        #expect(reopened.statistics.pendingReferences == 1)
    }
}
