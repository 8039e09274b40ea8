import BalloonPOSIX
import BusinessMessages
import Testing

@testable import MessageStore

/// Records that were written twice, because the answer to the first writing was lost.
struct RepeatedRecordTests {
    private static let later = Timestamp(milliseconds: 2_000_000)
    /// The history of one message, with every kind of record about it.
    private static let records: [JournalRecord.Change] = [
        .resolved(), .files,
        .attempt(.init(number: 1, isCrash: false, isParked: false, next: later)),
        .attempt(.init(number: 2, isCrash: true, isParked: false, next: nil)),
        .attempt(.init(number: 3, isCrash: false, isParked: true, next: later)),
        .outcome(.init(at: later, kind: .text, replies: 2)),
        .finished(
            .init(
                kind: .text, result: .handled, reason: nil, original: nil, isRefusal: false,
                attempts: 2)),
        .replyAttempt(.init(index: 0, number: 1, next: later)),
        .reply(
            .init(
                index: 0, id: MessageID("r"), result: .refused(status: 400, reason: "no"),
                attempts: 2, at: later,
                reportedIn: nil)),
        .dropped(reply: 0),
    ]

    private func location(_ number: UInt64) -> RecordLocation {
        RecordLocation(segment: 1, offset: UInt32(number), lengthBytes: 10)
    }

    private func located(_ change: JournalRecord.Change, _ number: UInt64) -> LocatedRecord {
        LocatedRecord(record: .change(of: 2, change), number: number, location: location(number))
    }

    private func message() -> MessageState {
        let conversation = ConversationKey(business: business, customer: customer)
        return MessageState(
            JournalRecord.Message(
                conversation: conversation, id: MessageID("m"),
                key: MessageKey(business: business, id: MessageID("m")),
                at: Timestamp(milliseconds: 1_000_000), hasReference: true, replayOf: nil, retriedReply: nil,
                outboundKind: nil, act: .writes), record: 2, at: location(2))
    }

    @Test func `an attempt that is recorded after the end of its delivery changes nothing`() {
        var state = message()
        state.apply(
            located(
                .finished(
                    .init(
                        kind: .text, result: .dropped, reason: nil, original: nil, isRefusal: false,
                        attempts: 1)), 3))
        let ended = "\(state)"
        state.apply(
            located(.attempt(.init(number: 2, isCrash: false, isParked: true, next: Self.later)), 4))
        #expect("\(state)" == ended)
    }

    @Test func `a record that is written twice in a row changes nothing the second time`() {
        var state = message()
        for (index, record) in Self.records.enumerated() {
            let number = UInt64(3 + 2 * index)
            state.apply(located(record, number))
            let once = "\(state)"
            state.apply(located(record, number + 1))
            #expect("\(state)" == once, "\(record)")
        }
        #expect(state.attempts == 3)
        #expect(state.crashes == 1)
        #expect([state.resolved, state.files, state.decision?.location].map { $0?.offset } == [3, 5, 13])
    }

    @Test func `all records of a message written twice change nothing the second time`() {
        var state = message()
        for (index, record) in Self.records.enumerated() {
            state.apply(located(record, UInt64(3 + index)))
        }
        let once = "\(state)"
        for (index, record) in Self.records.enumerated() {
            state.apply(located(record, UInt64(33 + index)))
        }
        #expect("\(state)" == once)
    }
}
