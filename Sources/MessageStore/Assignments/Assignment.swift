package import BalloonJSON
package import BalloonPOSIX

/// A person who answers customers.
package struct Person: Hashable, Sendable {
    /// The person's identifier in the caller's system.
    package let id: String
    /// The name for people, if it was given.
    package let name: String?

    /// The maximum length of an identifier and of a name, in bytes.
    package static let maximumBytes = 200

    /// Creates a person; nil when the identifier or the name is empty, too long, or has control characters.
    package init?(id: String, name: String? = nil) {
        guard Self.isValid(id), name.map(Self.isValid) ?? true else { return nil }
        self.id = id
        self.name = name
    }

    private static func isValid(_ text: String) -> Bool {
        (1...maximumBytes).contains(text.utf8.count) && text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
    }
}

/// The state of a conversation between its handler and a person.
package struct Assignment: Hashable, Sendable {
    /// The state of a conversation.
    package enum State: String, CaseIterable, Sendable {
        /// The handler answers; the state of every conversation without a record.
        case handler
        /// The conversation waits for a person, and no handler is called.
        case waiting
        /// A person answers, and no handler is called.
        case person
        /// The conversation was closed; the customer's next message begins with the handler.
        case closed
    }

    /// The place at which the conversation left its handler.
    package struct Beginning: Hashable, Sendable {
        /// The journal record of that change.
        package let record: UInt64
        /// The number of the conversation's first line after the change.
        package let sequence: Int
    }

    /// The current state.
    package internal(set) var state: State
    /// The journal record of the latest change; 0 when there was none.
    package internal(set) var record: UInt64
    /// The time of the latest change; nil when there was none.
    package internal(set) var since: Timestamp?
    /// The person who has the conversation.
    package internal(set) var person: Person?
    /// The reason of the hand-off.
    package internal(set) var reason: String?
    /// The note of the last release.
    package internal(set) var note: String?
    /// The place at which the conversation left its handler; for the state `handler`, until the handler got an event again.
    package internal(set) var began: Beginning?
    /// The time of the person's last sign of life: the claim, or a message.
    package internal(set) var lastSeen: Timestamp?
    /// Whether the replies of the hand-off told the customer about it.
    package internal(set) var isAnnounced = false

    /// The state of a conversation that never left its handler.
    package static let handler = Assignment(state: .handler, record: 0)

    init(state: State, record: UInt64) {
        self.state = state
        self.record = record
    }

    /// Whether no handler is called.
    package var isAssigned: Bool { state == .waiting || state == .person }

    /// The maximum length of a reason or a note in bytes; a longer one is cut.
    package static let maximumTextBytes = 1000
}

extension Assignment {
    /// Writes the members of an assignment, without its record.
    package func write(to writer: inout JSONWriter) {
        writer.field("state", state.rawValue)
        writer.field("since", since?.rfc3339)
        if let person {
            writer.key("person")
            person.write(to: &writer)
        }
        writer.field("lastSeen", lastSeen?.rfc3339)
        writer.field("reason", reason)
        writer.field("note", note)
        if isAnnounced { writer.field("announced", true) }
        guard let began else { return }
        if began.record > 0 { writer.field("began", Int(clamping: began.record)) }
        writer.field("seq", began.sequence)
    }
}

extension Person {
    /// Writes `{"id":"…","name":"…"}`.
    package func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.field("id", id)
            writer.field("name", name)
        }
    }
}
