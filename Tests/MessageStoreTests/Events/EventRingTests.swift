import BalloonPOSIX
import BusinessMessages
import Testing

@testable import MessageStore

/// The latest events in memory, and the order of those from the journal.
@Suite struct EventRingTests {
    private func event(
        _ record: UInt64, _ name: StoreEvent.Name = .messageReceived, seq: Int? = nil, lineBytes: Int = 0
    ) -> StoreEvent {
        var event = StoreEvent(
            StoreEvent.Key(record: record, ordinal: 0), name, in: EventFoldTests.key, at: EventFoldTests.at)
        event.sequence = seq
        if lineBytes > 0 { event.line = [UInt8](repeating: 0x78, count: lineBytes) }
        return event
    }

    private func ring(_ records: [UInt64], maximumCount: Int = 4) -> EventRing {
        var ring = EventRing(after: 10, maximumCount: maximumCount)
        for record in records { ring.append(PlacedEvent(event: event(record), through: record)) }
        return ring
    }

    private func resume(_ ring: EventRing, after: UInt64, unsent: Set<UInt64> = []) -> String {
        switch ring.resume(after: after, last: 30, first: 5, unsent: unsent) {
        case .reset: "reset"
        case .ring(let position): "ring \(position)"
        case .journal(let through, let exclusion, let position):
            "journal \(through) without \(exclusion.keys.map(\.record).sorted()) \(exclusion.records.sorted()) \(position)"
        }
    }

    @Test func `a follower resumes from the ring, from the journal or with a reset, depending on its place`()
    {
        let ring = ring([11, 12, 9, 13])
        #expect(resume(ring, after: 10) == "ring 0")
        #expect(resume(ring, after: 30) == "ring 0")
        #expect(resume(ring, after: 31) == "reset")
        #expect(resume(ring, after: 9) == "journal 10 without [9] [] 0")
        #expect(resume(ring, after: 4, unsent: [8, 14]) == "journal 10 without [9] [8] 0")
        #expect(resume(ring, after: 3) == "reset")
    }

    @Test func `a ring that replaces another ring uses none of the old positions`() {
        let old = ring([11, 12, 13])
        var new = EventRing(after: 20, replacing: old)
        for record in 21..<30 {
            new.append(PlacedEvent(event: event(UInt64(record)), through: UInt64(record)))
        }
        for position in 0...old.end { #expect(new.events(from: position) == nil) }
        #expect(new.events(from: new.start)?.first?.event.key.record == 21)
    }

    @Test func `the ring keeps the latest events within its limits`() {
        var ring = ring([11, 12, 13, 14, 15, 16])
        #expect(ring.start == 2 && ring.end == 6 && ring.evictedThrough == 12)
        #expect(ring.events(from: 3)?.map(\.event.key.record) == [14, 15, 16])
        #expect(ring.events(from: 6)?.isEmpty == true)
        #expect(ring.events(from: 1) == nil && ring.events(from: 7) == nil)
        for record in 17..<40 {
            ring.append(PlacedEvent(event: event(UInt64(record)), through: UInt64(record)))
        }
        #expect(ring.events(from: ring.start)?.map(\.event.key.record) == [36, 37, 38, 39])
        var large = EventRing(after: 0, maximumCount: 100, maximumBytes: 10_000)
        for record in 1...10 {
            large.append(
                PlacedEvent(event: event(UInt64(record), lineBytes: 3000), through: UInt64(record)))
        }
        #expect(large.end - large.start == 3 && large.evictedThrough == 7)
    }

    @Test func `events from the journal follow the order of lines, and come after their causes`() {
        // The reference of record 10 resolved late, so its line is the second, after the line of record 12.
        let events = [
            event(10, seq: 2), event(11, .messageQueued), event(12, .messageAccepted, seq: 1),
            event(13, .messageQueued), event(14, .messageFailed, seq: 3), event(15, .replyDeadLetter, seq: 3),
        ]
        #expect(EventOrder.sorted(events).map(\.key.record) == [11, 12, 10, 13, 14, 15])
    }
}
