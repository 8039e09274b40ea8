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
        let reply = { (status: ReplyState.Status, httpStatus: Int, reason: String?) in
            EventRecord.reply(
                of: 1,
                EventRecord.EndedReply(
                    id: MessageID("r"), status: status, httpStatus: httpStatus, reason: reason, at: at),
                reportedIn: nil)
        }
        let assigned = {
            (name: StoreEvent.Name, state: Assignment.State, person: Person?, reason: String?) in
            EventRecord.assignment(
                key, EventRecord.AssignedChange(name: name, state: state, person: person, reason: reason),
                at: at)
        }
        let records: [EventRecord] = [
            .message(key, MessageID("m1"), outboundKind: nil, isReplay: false, at: at),
            .message(key, MessageID("m2"), outboundKind: .text, isReplay: false, at: at),
            reply(.accepted, 200, nil), reply(.refused, 400, "bad request"),
            .parked(of: 1, at: at),
            .finished(of: 1, kind: .text, at: at, deadLetter: "no answer", isDeadLetter: true),
            assigned(.conversationHandedOff, .waiting, nil, "asks"),
            assigned(.conversationClaimed, .person, Person(id: "agent-7", name: "Ana"), nil),
            assigned(.conversationReleased, .handler, nil, nil),
            assigned(.conversationClosed, .closed, nil, nil),
        ]
        return records.flatMap {
            EventDraft.events(of: $0, number: 1, in: key, kind: .text).map {
                $0.completed(with: $0.line == nil ? nil : line)
            }
        }
    }
}
