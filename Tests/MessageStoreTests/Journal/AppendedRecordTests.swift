import BalloonPOSIX
import BusinessMessages
import Testing

@testable import MessageStore

/// A running store applies the meaning of a record that it appends; a start applies what it reads from the line.
struct AppendedRecordTests {
    private static let at = Timestamp(milliseconds: 1_800_000_000_123)
    private static let key = ConversationKey(business: business, customer: CustomerID("urn:mbid:c"))
    private static let person = Person(id: "agent-7", name: "Ana")

    private static func received(_ kind: Kind? = nil, author: MessageAuthor? = nil) -> ReceivedMessage {
        ReceivedMessage(
            business: business, customer: key.customer, id: MessageID("m \"1\""),
            attributes: ReceivedAttributes(locale: "en_US"), message: Array(#"{"type":"text"}"#.utf8),
            hasPayloadReference: kind == nil, outboundKind: kind, author: author, act: .closes, receivedAt: at
        )
    }

    private static var assigned: Assignment {
        var assignment = Assignment(state: .person, record: 0)
        assignment.since = at
        assignment.person = person
        assignment.lastSeen = at
        assignment.reason = "why"
        assignment.note = "then"
        assignment.isAnnounced = true
        assignment.began = Assignment.Beginning(record: 7, sequence: 3)
        return assignment
    }

    private static var copied: Assignment {
        var assignment = assigned
        assignment.record = 9
        return assignment
    }

    private static func handOff(isAnnounced: Bool) -> AssignmentRecord {
        var assignment = Assignment(state: .waiting, record: 0)
        assignment.since = at
        assignment.reason = "person"
        assignment.isAnnounced = isAnnounced
        assignment.began = Assignment.Beginning(record: 0, sequence: 4)
        return AssignmentRecord(conversation: key, assignment: assignment, endedIn: nil)
    }

    private static func entry() -> OutboxEntry {
        OutboxEntry(
            id: ReplyID(record: 12, index: 1), business: business, customer: key.customer,
            reply: DecidedReply(id: MessageID("r"), kind: .text, message: Array("{}".utf8)),
            inReplyTo: MessageID("m"), decidedAt: at, attempts: 2, author: .handler,
            attributes: ReceivedAttributes(), answersFailure: false, isRecovered: false)
    }

    private static let reply = DecidedReply(id: MessageID("r"), kind: .form, message: Array("{}".utf8))
    private static let refused = RefusedAnswer(reason: "too long", problems: Array(#"[{"rule":"a"}]"#.utf8))

    private static let records: [AppendedRecord] = [
        JournalBody.message(received()),
        JournalBody.message(received(.text, author: .person(person)), replayOf: 3, retriedReply: 1),
        JournalBody.message(
            received(.text, author: .person(person)),
            MessageKey(business: business, id: MessageID("m \"1\"")),
            claimedAt: 5, in: key),
        JournalBody.resolved(of: 12, .resolved(message: Array("{}".utf8)), at: at),
        JournalBody.resolved(of: 12, .failed(reason: "gone"), at: at),
        JournalBody.files(of: 12, [.failed(reason: "gone")], at: at),
        JournalBody.outcome(
            of: 12, attempt: 1, kind: .text, DecidedOutcome(.handled, replies: [reply]), at: at),
        JournalBody.outcome(
            of: 12, attempt: 1, kind: nil,
            DecidedOutcome(.handedOff(reason: "person"), replies: [reply], waitsForPerson: true),
            handOff: handOff(isAnnounced: true), at: at),
        JournalBody.outcome(
            of: 12, attempt: 1, kind: nil, DecidedOutcome(.handedOff(reason: "person"), waitsForPerson: true),
            handOff: handOff(isAnnounced: false), at: at),
        JournalBody.reply(entry(), .accepted(status: 200), attempts: 3, isReported: false, at: at),
        JournalBody.reply(
            entry(), .refused(status: nil, reason: "no"), attempts: 3, isReported: true, at: at),
        JournalBody.reply(entry(), .erased, attempts: 3, isReported: false, at: at),
        JournalBody.replyAttempt(of: ReplyID(record: 12, index: 1), 2, at: at, next: at),
        JournalBody.attempt(of: 12, 2, at: at, next: at, isParked: true),
        JournalBody.attempt(of: 12, 2, at: at, next: at, isParked: false),
        JournalBody.attempt(of: 12, 2, at: at, next: nil),
        JournalBody.finished(of: 12, kind: .text, .handled, attempts: 2, at: at),
        JournalBody.finished(of: 12, kind: nil, .failed(reason: "no"), at: at),
        JournalBody.finished(of: 12, kind: .form, .refused(refused), at: at),
        JournalBody.finished(of: 12, kind: .form, .repeated(of: MessageID("x")), at: at),
        JournalBody.dropped(of: 12, at: at), JournalBody.dropped(of: 12, reply: 1, at: at),
        JournalBody.assignment(assigned, of: key, by: "claim", at: at),
        JournalBody.assignment(copied, of: key, by: "copy", endedIn: 4, at: at),
        JournalBody.checkpoint(through: 12, at: at), JournalBody.unsynced(at: at),
    ]

    @Test(arguments: records.indices)
    func `a record that is appended means what its line says`(_ place: Int) throws {
        let record = Self.records[place]
        var line: [UInt8] = []
        JournalLine.write(body: record.body, record: 20, batch: 20, onto: &line)
        let text = line.dropLast()
        let header = try #require(JournalLine.header(of: text))
        #expect(JournalRecord(text, header) == record.meaning)
    }
}
