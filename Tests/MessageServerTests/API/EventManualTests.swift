import BalloonJSON
import BalloonPOSIX
import BalloonWire
import BusinessMessages
import TestSupport
import Testing

@testable import MessageServer
@testable import MessageStore

/// The examples of the manual's page, compared with what the server sends.
@Suite struct EventManualTests {
    private static let page =
        Fixture.directory.dropLast("Tests/TestSupport/Fixtures".count)
        + "Sources/MessageServer/MessageServer.docc/FollowEvents.md"

    @Test func `the manual has an example of every type, with the members that the server sends`() throws {
        let text = String(decoding: try File(String(Self.page), for: .reading).readAll(), as: UTF8.self)
        let examples = try text.split(separator: "\n").filter { $0.hasPrefix("{\"key\"") }
            .map { try JSONDocument(Array($0.utf8)).root }
        let sent = try Self.events.map {
            try JSONDocument(
                EventText.data(
                    $0, in: RecordNumbers(key: .random(byteCount: 32), store: "s"), business: "demo")
            ).root
        }
        #expect(Set(sent.compactMap { $0["type"]?.string }) == Set(StoreEvent.Name.allCases.map(\.rawValue)))
        for event in sent {
            let type = event["type"]?.string
            let example = try #require(examples.first { $0["type"]?.string == type }, "\(type ?? "")")
            #expect(
                example.members.map(\.key) == event.members.map(\.key), "members of \(type ?? "")")
        }
        #expect(examples.count == StoreEvent.Name.allCases.count)
        let names = StoreEvent.Name.allCases.map(\.rawValue) + TransientEvent.Name.allCases.map(\.rawValue)
        for name in names + [EventText.resetName] {
            #expect(text.contains("\n| `\(name)` |"), "the table lacks \(name)")
        }
    }

    /// One event of each type, made as the store makes it.
    private static var events: [StoreEvent] {
        let key = ConversationKey(business: BusinessID("b"), customer: CustomerID("urn:mbid:c"))
        let at = Timestamp(milliseconds: 1_000)
        let line = FoundLine(
            sequence: 1, at: at, id: MessageID("m1"), kind: .text, text: Array(#"{"seq":1}"#.utf8)[...])
        let noted = FoundLine(
            sequence: 2, at: at, id: MessageID("n1"), kind: .unrecognized, isInternal: true,
            text: Array(#"{"seq":2}"#.utf8)[...])
        let person = Person(id: "agent-7", name: "Ana")
        func message(
            _ id: String, _ kind: Kind? = nil, act: ReceivedMessage.Act = .writes
        ) -> AppendedRecord {
            JournalBody.message(
                ReceivedMessage(
                    business: key.business, customer: key.customer, id: MessageID(id),
                    message: Array("{}".utf8), outboundKind: kind, act: act, receivedAt: at))
        }
        func reply(_ result: ReplyResult) -> AppendedRecord {
            let entry = OutboxEntry(
                id: ReplyID(record: 1, index: 0), business: key.business, customer: key.customer,
                reply: DecidedReply(id: MessageID("r"), kind: .text, message: Array("{}".utf8)),
                inReplyTo: nil, decidedAt: at, attempts: 0, author: nil, attributes: ReceivedAttributes(),
                answersFailure: false, isRecovered: false)
            return JournalBody.reply(entry, result, attempts: 1, isReported: false, at: at)
        }
        func assigned(
            _ change: String, _ state: Assignment.State, _ person: Person? = nil, _ reason: String? = nil,
            _ placement: Placement? = nil,
            _ adjust: (inout Assignment) -> Void = { _ in }
        ) -> AppendedRecord {
            var assignment = Assignment(state: state, record: 0)
            assignment.person = person
            assignment.reason = reason
            assignment.placement = placement
            adjust(&assignment)
            return JournalBody.assignment(assignment, of: key, by: change, at: at)
        }
        let records = [
            message("m1"), message("m2", .text), message("n1", act: .internal), reply(.accepted(status: 200)),
            reply(.refused(status: 400, reason: "bad request")),
            JournalBody.attempt(of: 1, 1, at: at, next: at, isParked: true),
            JournalBody.finished(of: 1, kind: .text, .failed(reason: "no answer"), at: at),
            assigned("handOff", .waiting, nil, "asks"), assigned("claim", .person, person),
            assigned("release", .handler), assigned("close", .closed),
            assigned("place", .waiting, nil, "asks", Placement(queue: "a", rule: "default", since: at)),
            assigned("offer", .waiting) {
                $0.offer = person.map { Offer(to: $0, until: at) }
            },
            assigned("snooze", .person, person) { $0.snoozedUntil = at },
        ]
        return records.flatMap {
            StoreEvent.events(of: $0, number: 1, in: key).map {
                $0.neededLine == nil ? $0 : $0.completed(with: $0.name == .conversationNoted ? noted : line)
            }
        }
    }
}
