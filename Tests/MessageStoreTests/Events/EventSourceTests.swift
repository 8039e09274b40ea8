import BalloonPOSIX
import BusinessMessages
import Synchronization
import TestSupport
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

    /// The line of a message, and that of a reply, are written after the feed is active; both records are earlier, or
    /// the end of the reply is later.
    @Test(arguments: [true, false], [true, false])
    func `events have the order of their lines when reading begins beside traffic`(
        _ isMessageFirst: Bool, _ isEndEarlier: Bool
    ) async throws {
        let held = Mutex<Set<MessageID>>([MessageID("m2")])
        let store = try directory.open(recordingAs: nil) {
            $0.releaseBackoff = Backoff(from: .milliseconds(1), to: .milliseconds(1))
        }
        store.startRecording { message in
            if held.withLock({ $0.contains(message.id) }) { throw StoreError.closed }
            return try store.write(message, as: .text)
        }
        func recordMessage() async {
            held.withLock { $0 = [] }
            #expect(
                await eventually { store.scheduler.all.allSatisfy { $0.pending.recording.isDone } })
        }
        #expect(await store.append(message("m1")) == .stored)
        let delivery = try await store.lease()
        let reply = DecidedReply(id: MessageID("r1"), kind: .text, message: Array(#"{"id":"r1"}"#.utf8))
        _ = try await store.decide(delivery, DecidedOutcome(.handled, replies: [reply]))
        try await store.finish(delivery, result: .handled)
        #expect(await store.append(message("m2")) == .stored)
        let entry = try #require(store.leaseReply())
        let line = LineIdentity(record: entry.id.record, reply: reply.id)
        let unwritten = UnwrittenLines.Reply(
            conversation: entry.conversation,
            end: JournalBody.reply(
                entry, .accepted(status: 200), attempts: 1, isReported: false, at: .now()), line: line)
        var number: UInt64?
        if isEndEarlier {
            // The end of the reply is in the journal, and its line is not in the conversation's file.
            let place = store.unwrittenLines.begin(after: store.journal.lastRecord, unwritten)
            let record = try await store.journal.append(
                JournalBody.reply(entry, .accepted(status: 200), attempts: 1, isReported: false, at: .now()))
            store.unwrittenLines.recordEnd(place, as: record.number)
            number = place
        }
        await store.journal.flush()
        let beginning = await store.beginEvents()
        if isMessageFirst { await recordMessage() }
        if let number {
            try store.write(
                ConversationEntry(
                    conversation: entry.conversation, record: entry.id.record, at: .now(), id: reply.id,
                    kind: .text, message: reply.message, result: .accepted(status: 200), author: .handler),
                mightBeThere: false)
            store.unwrittenLines.end(number)
        } else {
            try await store.settle(entry, .accepted(status: 200))
        }
        if !isMessageFirst { await recordMessage() }
        var source = store.source(after: beginning)
        let unsent = source.unsent
        let live = source.next() ?? []
        var past = try store.pastEvents(
            after: 0, through: source.begin, excluding: EventExclusion(keys: [], records: unsent))
        let events = try past.readAll() + live
        #expect(events.compactMap(\.event.sequence) == [1, 2, 3], "\(names(events))")
        #expect(Set(events.map(\.event.key)).count == events.count)
        #expect(source.unsent.isEmpty)
        await store.close()
    }

    @Test func `a message that ends while reading begins is known to its later events`() async throws {
        let store = try directory.open()
        #expect(await store.append(message("m1")) == .stored)
        let delivery = try await store.lease()
        let beginning = await store.beginEvents()
        try await store.finish(delivery, result: .failed(reason: "the handler threw Oops"))
        await store.journal.flush()
        var source = store.source(after: beginning)
        #expect(names(source.next()) == ["delivery.deadLetter -"])
        await store.close()
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
