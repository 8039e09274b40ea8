package import BalloonJSON

/// The author of a sent message.
///
/// In journal and conversation `"author":"handler"`, or `"author":"person"` with `"person":{"id":"…","name":"…"}` for a known one.
package enum MessageAuthor: Hashable, Sendable {
    /// The business's handler, or its fallback.
    case handler
    /// Another program.
    case program
    /// The server itself, with a text from the business's file.
    case server
    /// A person; nil for one without an identifier.
    case person(Person?)
    /// A person, in a record of an earlier version, whose line names no author.
    case unnamedPerson

    /// Whether a person wrote it, which a header tells Apple.
    package var isPerson: Bool {
        switch self {
        case .person, .unnamedPerson: true
        case .handler, .program, .server: false
        }
    }

    /// The person, if known.
    package var person: Person? { if case .person(let person) = self { person } else { nil } }

    /// The name in journal and conversation; nil where the author has none there.
    package var name: String? {
        switch self {
        case .handler: "handler"
        case .program: "program"
        case .server: "server"
        case .person: "person"
        case .unnamedPerson: nil
        }
    }

    /// Parses the members of a record or a line; nil where it names no author.
    package init?(_ root: JSONValue) {
        switch root["author"]?.string {
        case "handler": self = .handler
        case "program": self = .program
        case "server": self = .server
        case "person": self = .person(Person(root["person"]))
        default:
            guard root["person"]?.bool == true else { return nil }
            self = .unnamedPerson
        }
    }
}

extension JSONWriter {
    /// Writes the members of an author of a line.
    package mutating func line(author: MessageAuthor?) {
        guard let name = author?.name else { return }
        field("author", name)
        guard let person = author?.person else { return }
        key("person")
        person.write(to: &self)
    }

    /// Writes the members of an author of a record, which are those of a line, and `"person":true` for a person whose
    /// line names no author.
    mutating func record(author: MessageAuthor?) {
        if author == .unnamedPerson { field("person", true) }
        line(author: author)
    }
}
