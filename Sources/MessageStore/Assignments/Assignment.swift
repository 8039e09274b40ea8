package import BalloonJSON
package import BalloonPOSIX
package import BusinessMessages

/// A person who answers customers.
package struct Person: Hashable, Sendable, JSONWritable {
    /// The person's identifier in the system that calls the API, such as a help desk.
    package let id: String
    /// The display name; nil when none was given.
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

/// States whether the handler or a person answers in a conversation, and since when.
package struct Assignment: Hashable, Sendable {
    /// The states of a conversation.
    package enum State: String, CaseIterable, Sendable {
        /// The handler answers; the state of every conversation whose assignment never changed.
        case handler
        /// The conversation waits for a person, and no handler is called.
        case waiting
        /// A person answers, and no handler is called.
        case person
        /// The conversation was closed; the customer's next message goes to the handler again.
        case closed
    }

    /// The point at which the handler stopped answering in the conversation.
    package struct Beginning: Hashable, Sendable {
        /// The journal record of the change.
        package let record: UInt64
        /// The sequence number of the first line in the conversation's file after the change.
        package let sequence: Int
    }

    /// The wait of a customer for an answer.
    package struct Unanswered: Hashable, Sendable, JSONWritable {
        /// When the wait began.
        package let since: Timestamp
        /// Whether no person has answered since the conversation began to wait.
        package let isFirst: Bool

        /// Writes `{"since":"…","first":true}`; without `first` unless it is true.
        package func write(to writer: inout JSONWriter) {
            writer.object(["since": since.rfc3339, "first": isFirst ? true : nil])
        }
    }

    /// The current state.
    package internal(set) var state: State
    /// The journal record of the latest change; 0 when there was none.
    package internal(set) var record: UInt64
    /// The time of the latest change; nil when there was none.
    package internal(set) var since: Timestamp?
    /// The person who answers; nil unless the state is `person`.
    package internal(set) var person: Person?
    /// The reason of the hand-off; nil when none was given.
    package internal(set) var reason: String?
    /// The note of the last release, for the next person; nil when none was given or the handler has handed off since.
    package internal(set) var note: String?
    /// The point at which the handler stopped answering; nil once the handler has received a later event.
    package internal(set) var began: Beginning?
    /// The time of the person's latest activity: the claim, or a message that the person wrote.
    package internal(set) var lastSeen: Timestamp?
    /// Whether the customer knows that a person answers, so that the server sends no text about it.
    ///
    /// The handler sent replies with the hand-off, or a person released the conversation to another one.
    package internal(set) var isAnnounced = false

    /// The queue in which the conversation waits, or waited before its person claimed it; nil without queues.
    package internal(set) var placement: Placement?
    /// The offer of the waiting conversation to a person; nil when there was none since it is in its queue.
    package internal(set) var offer: Offer?
    /// The time until which the person has put the conversation aside; a message of the customer ends it earlier.
    package internal(set) var snoozedUntil: Timestamp?
    /// Since when the customer has had no answer of a person; nil without queues, and after an answer.
    package internal(set) var unanswered: Unanswered?
    /// The record with which the wait began; nil when no later record has changed the wait.
    var waitBegan: UInt64?

    /// The record with which the current state began, which later changes of the queue keep.
    package var stateRecord: UInt64 { waitBegan ?? record }

    /// Whether the conversation waits because a person has released it to another one.
    package var isTransferred: Bool {
        state == .waiting && isAnnounced && began.map { $0.record < stateRecord } ?? false
    }

    /// Whether people see the assignment as another one: its state, its person or its queue is another.
    ///
    /// The handler's turn after a close begins with the customer's message, which people see anyway.
    func isShownAsChange(of before: Assignment) -> Bool {
        if before.state == .closed, state == .handler { return false }
        return state != before.state || person?.id != before.person?.id
            || (isAssigned && placement?.queue != before.placement?.queue)
    }

    /// The assignment of a conversation in which the handler always answered.
    package static let handler = Assignment(state: .handler, record: 0)

    init(state: State, record: UInt64) {
        self.state = state
        self.record = record
    }

    /// Whether the conversation is with a person or waits for one; no handler is called in either case.
    package var isAssigned: Bool { state == .waiting || state == .person }

    /// The maximum length of a reason or a note in bytes; longer texts are truncated.
    package static let maximumTextBytes = 1000
}

extension Assignment {
    /// Writes the JSON members of an assignment, but not the number of the journal record in which the assignment is stored.
    package func write(to writer: inout JSONWriter) {
        let beganRecord = began.flatMap { $0.record > 0 ? Int(clamping: $0.record) : nil }
        writer.fields([
            "state": state.rawValue, "since": since?.rfc3339, "person": person,
            "lastSeen": lastSeen?.rfc3339, "reason": reason, "note": note,
            "announced": isAnnounced ? true : nil, "queue": placement, "offer": offer,
            "snoozedUntil": snoozedUntil?.rfc3339, "unanswered": unanswered,
            "waits": waitBegan.map { Int(clamping: $0) }, "began": beganRecord, "seq": began?.sequence,
        ])
    }
}

extension Person {
    /// Writes `{"id":"…","name":"…"}`.
    package func write(to writer: inout JSONWriter) {
        writer.object(["id": id, "name": name])
    }
}

extension Assignment {
    /// Returns the refusal of such a message from a handler or another program; nil when it may be sent.
    ///
    /// A sign-in request may be sent while a person has the conversation; the person sees its result there.
    package func refusal(ofProgramSending kind: Kind?) -> AssignmentRefusal? {
        isAssigned && kind != .authentication ? .withPerson(person) : nil
    }
}
