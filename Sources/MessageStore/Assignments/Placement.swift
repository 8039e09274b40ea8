package import BalloonJSON
package import BalloonPOSIX

/// The place of a conversation among those that wait for a person.
///
/// `{"id":"returns","priority":5,"rule":"2: intent returns","since":"…"}`
package struct Placement: Hashable, Sendable, JSONWritable {
    /// The queue's identifier in the business's file, which may no longer have such a queue.
    package let queue: String?
    /// Conversations with a higher priority are answered first; nil means the priority of the queue.
    package let priority: Int?
    /// The identifier of the person who gets the first offer, because that person answered before; nil for nobody in particular.
    package let person: String?
    /// Why the conversation is in the queue; nil for the wish of a handler, about which no rule has decided yet.
    package let rule: String?
    /// When the conversation entered the queue.
    package internal(set) var since: Timestamp?

    /// The rule of a conversation that a person put into the queue.
    package static let transfer = "transfer"
    /// The valid priorities.
    package static let priorities = 0...9
    /// The maximum length of a queue's identifier and of a rule, in bytes.
    package static let maximumBytes = 200

    /// Creates a place; a longer text is truncated, and an invalid priority is ignored.
    package init(
        queue: String?, priority: Int? = nil, person: String? = nil, rule: String? = nil,
        since: Timestamp? = nil
    ) {
        self.person = person
        self.queue = queue?.cut(toBytes: Self.maximumBytes)
        self.priority = priority.flatMap { Self.priorities.contains($0) ? $0 : nil }
        self.rule = rule?.cut(toBytes: Self.maximumBytes)
        self.since = since
    }

    /// Reads a place; nil for a value that is no object.
    package init?(_ value: JSONValue?) {
        guard let value, value.kind == .object else { return nil }
        self.init(
            queue: value["id"]?.string, priority: value["priority"]?.int, person: value["person"]?.string,
            rule: value["rule"]?.string, since: value.timestamp("since"))
    }

    /// Writes the object.
    package func write(to writer: inout JSONWriter) {
        writer.object([
            "id": queue, "priority": priority, "person": person, "rule": rule, "since": since?.rfc3339,
        ])
    }
}
