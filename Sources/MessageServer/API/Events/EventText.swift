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
            reservingCapacity: capacity(of: placed.event)
        ) { writer in
            writer.object { write(placed.event, in: numbers, business: business, to: &$0) }
        }
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
        text(id: id, name, reservingCapacity: data.count) { $0.raw(data) }
    }

    /// An event whose data `writeData` writes, a value of at most about `capacity` bytes, into the same buffer.
    private static func text(
        id: String?, _ name: String, reservingCapacity capacity: Int,
        writeData: (inout JSONWriter) -> Void
    ) -> [UInt8] {
        var text: [UInt8] = []
        // The rest has at most 128 bytes, unless the name of an event is very long.
        text.reserveCapacity(capacity + 128)
        if let id {
            text += "id: ".utf8
            text += id.utf8
            text += "\n".utf8
        }
        text += "event: ".utf8
        text += name.utf8
        text += "\ndata: ".utf8
        var writer = JSONWriter(appendingTo: consume text)
        writeData(&writer)
        text = (consume writer).finish()
        text += "\n\n".utf8
        return text
    }

    /// The type of the event that tells a follower that it missed events.
    static let resetName = "stream.reset"

    static let resetData = JSONWriter.object(["type": resetName])

    /// The object of an event, on one line; in a page it has the id of the event's place.
    static func data(
        _ event: StoreEvent, id: String? = nil, in numbers: RecordNumbers, business: String
    ) -> [UInt8] {
        JSONWriter.object(reservingCapacity: capacity(of: event)) { writer in
            writer.field("id", id)
            write(event, in: numbers, business: business, to: &writer)
        }
    }

    private static func capacity(of event: StoreEvent) -> Int { 256 + (event.line?.count ?? 0) }

    /// Writes the members one by one, because this runs for each event and each follower.
    private static func write(
        _ event: StoreEvent, in numbers: RecordNumbers, business: String, to writer: inout JSONWriter
    ) {
        writer.field("key", "\(numbers.shown(event.key.record) as UInt64).\(event.key.ordinal)")
        writer.field("at", event.at.rfc3339)
        writer.field("type", event.name.rawValue)
        writer.field("business", business)
        writer.field("conversation", event.conversation)
        writer.field("kind", event.kind?.rawValue)
        writer.field("seq", event.sequence)
        writer.field("message", event.message.flatMap { $0.rawValue.isEmpty ? nil : $0.rawValue })
        writer.field("record", event.delivery.map { numbers.shown($0) as Int })
        writer.field("state", event.assignment?.state.rawValue)
        if let person = event.assignment?.person {
            writer.key("person")
            person.write(to: &writer)
        }
        writer.field("outcome", event.outcome)
        writer.field("status", event.status)
        writer.field("reason", event.reason)
        writer.field("note", event.assignment?.note)
        if let placement = event.assignment?.placement {
            writer.key("queue")
            placement.write(to: &writer)
        }
        if let offer = event.assignment?.offer {
            writer.key("offer")
            offer.write(to: &writer)
        }
        writer.field("snoozedUntil", event.assignment?.snoozedUntil?.rfc3339)
        if event.isTruncated { writer.field("truncated", true) }
        if let line = event.line { writer.raw("line", numbers.shown(line: line)) }
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
