package import BalloonJSON
package import BalloonPOSIX

/// An offer of a waiting conversation to one person, who accepts it by a claim.
///
/// `{"person":{"id":"ana"},"until":"…","asked":["ben","ana"]}`; after `until` the offer counts as missed, and without `person`
/// it was declined.
package struct Offer: Hashable, Sendable, JSONWritable {
    /// The person who may accept; nil when the person has declined.
    package internal(set) var person: Person?
    /// The end of the time to accept.
    package let until: Timestamp
    /// The identifiers of the persons who got an offer since the conversation is in its queue.
    package let asked: [String]

    /// The maximum number of persons who get an offer of one conversation in one queue.
    package static let maximumAsked = 100

    /// Creates an offer to a person, after those who got one before.
    package init(to person: Person, until: Timestamp, after asked: [String] = []) {
        (self.person, self.until) = (person, until)
        self.asked = asked + [person.id]
    }

    /// Reads an offer; nil for another value.
    package init?(_ value: JSONValue?) {
        guard let value, let until = value.timestamp("until") else { return nil }
        (person, self.until) = (Person(value["person"]), until)
        asked = value["asked"]?.elements.compactMap(\.string) ?? []
    }

    /// The person who may accept the offer at a time; nil when it was declined or missed.
    package func person(at now: Timestamp) -> Person? { until > now ? person : nil }

    /// Writes the object.
    package func write(to writer: inout JSONWriter) {
        writer.object(["person": person, "until": until.rfc3339, "asked": asked])
    }
}
