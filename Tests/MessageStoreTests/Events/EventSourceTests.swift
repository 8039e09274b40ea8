import BalloonPOSIX
import BusinessMessages
import Testing

@testable import MessageStore

/// The events of a whole store, as they happen and from the journal.
@Suite struct EventSourceTests {
    let directory = StoreDirectory()

    private func names(_ events: [PlacedEvent]?) -> [String] {
        (events ?? []).map { "\($0.event.name.rawValue) \($0.event.sequence.map { "\($0)" } ?? "-")" }
    }

    @Test func `events of lines from an earlier process come before events of lines from this process`()
        async throws
    {
        let first = try directory.open()
        #expect(await first.append(message("m1")) == .stored)
        let delivery = try await first.lease()
        let reply = DecidedReply(id: MessageID("r1"), kind: .text, message: Array(#"{"id":"r1"}"#.utf8))
        try await first.decide(delivery, DecidedOutcome(.handled, replies: [reply]))
        #expect(await first.append(message("m2")) == .stored)
        await first.rest()
        // The process is killed while the deliveries of two recorded messages have not ended.
        let copy = try directory.copy()
        let store = try copy.open(recordingAs: nil)
        var source = await store.followEvents()
        let entry = try #require(store.leaseReply())
        try await store.settle(entry, .accepted(status: 200))
        store.startRecording { try store.write($0, as: .text) }
        await store.rest()
        #expect(names(source.next()) == ["message.accepted 3"])
        #expect(source.unsent.isEmpty)
        var past = try store.pastEvents(
            after: 0, through: source.begin, excluding: EventExclusion(keys: [], records: source.unsent))
        let events = try past.readAll()
        #expect(names(events) == ["message.received 1", "message.queued -", "message.received 2"])
        await store.close()
        await first.close()
        withExtendedLifetime(copy) {}
    }

    @Test func `a source that begins while messages arrive misses none of them`() async throws {
        let store = try directory.open()
        var count = 0
        for round in 0..<50 {
            async let appended: Void = withTaskGroup { group in
                for number in 0..<8 {
                    let customer = CustomerID("c\(number)")
                    group.addTask { _ = await store.append(message("m\(round).\(number)", from: customer)) }
                }
            }
            var source = await store.followEvents()
            let unsent = source.unsent
            await appended
            await store.rest()
            count += 8
            let live = source.next() ?? []
            var past = try store.pastEvents(
                after: 0, through: source.begin, excluding: EventExclusion(keys: [], records: unsent))
            let events = try past.readAll() + live
            let received = events.filter { $0.event.name == .messageReceived && $0.event.line != nil }
            #expect(received.count == count)
            #expect(Set(events.map(\.event.key)).count == events.count)
            store.endEvents()
        }
        await store.close()
    }

    @Test func `a store without followers keeps no changes`() async throws {
        let store = try directory.open()
        #expect(await store.append(message("m1")) == .stored)
        #expect(store.feed.take()?.isEmpty == true)
        var source = await store.followEvents()
        #expect(await store.append(message("m2")) == .stored)
        #expect(names(source.next()) == ["message.received 2"])
        store.endEvents()
        #expect(await store.append(message("m3")) == .stored)
        #expect(source.next()?.isEmpty == true)
        await store.close()
    }
}
