import BalloonPOSIX
import BusinessMessages
import MessageStore

/// Renders events as parts of an event stream (WHATWG HTML §9.2), or as objects of a page.
enum EventText {
    /// The beginning of every stream; `retry` makes a browser reconnect after two seconds.
    static let head = Array(": events\nretry: 2000\n\n".utf8)

    /// Returns a comment with the place, so that a follower that gets few events resumes near the end.
    static func comment(_ through: UInt64, in numbers: RecordNumbers) -> [UInt8] {
        Array(": idle\nid: \(EventID.text(through, in: numbers))\n\n".utf8)
    }

    /// An event of the store in the format of a stream.
    static func text(of placed: PlacedEvent, in numbers: RecordNumbers, business: String) -> [UInt8] {
        text(
            id: EventID.text(placed.through, in: numbers), placed.event.name.rawValue,
            data(placed.event, in: numbers, business: business))
    }

    /// The event that tells a follower that it missed events, so that it must load its data again.
    static func reset(_ through: UInt64, in numbers: RecordNumbers) -> [UInt8] {
        text(id: EventID.text(through, in: numbers), resetName, resetData)
    }

    /// The text of an event without a place.
    static func transient(_ event: TransientEvent, business: String) -> [UInt8] {
        text(
            id: nil, event.name.rawValue,
            JSONWriter.object([
                "at": event.at.rfc3339, "type": event.name.rawValue, "business": business,
                "conversation": event.conversation, "health": event.health, "typing": event.isTyping,
                "direction": event.direction?.rawValue, "since": event.since?.rfc3339,
            ]))
    }

    /// An event with this name and data in the format of a stream; without an id, a follower's place stays.
    static func text(id: String?, _ name: String, _ data: [UInt8]) -> [UInt8] {
        let id = id.map { "id: \($0)\n" } ?? ""
        return Array("\(id)event: \(name)\ndata: ".utf8) + data + Array("\n\n".utf8)
    }

    /// The type of the event that tells a follower that it missed events.
    static let resetName = "stream.reset"

    static let resetData = JSONWriter.object(["type": resetName])

    /// The object of an event, on one line; in a page it has the id of the event's place.
    static func data(
        _ event: StoreEvent, id: String? = nil, in numbers: RecordNumbers, business: String
    ) -> [UInt8] {
        JSONWriter.object(reservingCapacity: 256 + (event.line?.count ?? 0)) { writer in
            writer.fields([
                "id": id, "key": "\(numbers.shown(event.key.record) as UInt64).\(event.key.ordinal)",
                "at": event.at.rfc3339, "type": event.name.rawValue, "business": business,
                "conversation": event.conversation, "kind": event.kind?.rawValue, "seq": event.sequence,
                "message": event.message.flatMap { $0.rawValue.isEmpty ? nil : $0.rawValue },
                "record": event.delivery.map { numbers.shown($0) as Int },
                "state": event.assignment?.state.rawValue, "person": event.assignment?.person,
                "outcome": event.outcome, "status": event.status, "reason": event.reason,
                "note": event.assignment?.note, "queue": event.assignment?.placement,
                "offer": event.assignment?.offer, "snoozedUntil": event.assignment?.snoozedUntil?.rfc3339,
                "truncated": event.isTruncated ? true : nil,
            ])
            guard let line = event.line else { return }
            writer.raw("line", numbers.shown(line: line))
        }
    }
}

/// An event that is not kept: a follower that resumes does not get it.
struct TransientEvent: Sendable {
    enum Name: String, Sendable, CaseIterable {
        /// A customer, or a person or program that answers a customer, begins or stops typing.
        case typing
        /// A customer has waited longer for an answer than the target of the queue.
        case conversationOverdue = "conversation.overdue"
        /// The health of a business's handler changed.
        case handlerHealth = "handler.health"
    }

    let name: Name
    let business: BusinessID
    var at = Timestamp.now()
    /// The name of the conversation's file.
    var conversation: String?
    /// The handler's health in one word.
    var health: String?
    var isTyping: Bool?
    /// `inbound` when the customer types, `outbound` when a person or program does.
    var direction: ConversationLine.Direction?
    /// The begin of the customer's wait.
    var since: Timestamp?
}

extension TransientEvent {
    /// Creates an event from a customer's message of the kind typing; nil for any other message.
    init?(typingOf event: StoreEvent) {
        guard event.name == .messageReceived, let kind = event.kind, kind.isTyping else { return nil }
        self.init(
            name: .typing, business: event.business, at: event.at, conversation: event.conversation,
            isTyping: kind == .typingStart, direction: .inbound)
    }
}
