package import BalloonJSON

/// The author of a sent message.
///
/// The JSON in the journal and in a conversation's file is `"author":"handler"`, for example. A known person
/// is `"author":"person"` with `"person":{"id":"…","name":"…"}`.
package enum MessageAuthor: Hashable, Sendable {
    /// The business's handler, or its fallback.
    case handler
    /// A program other than the handler.
    case program
    /// The server itself, with a text from the business's configuration file.
    case server
    /// A person; nil for a person without an identifier.
    case person(Person?)
    /// A person, in a record of an earlier version of the server that names no author.
    case unnamedPerson

    /// Whether a person wrote the message; the server tells Apple so in a header field of the request.
    package var isPerson: Bool {
        switch self {
        case .person, .unnamedPerson: true
        case .handler, .program, .server: false
        }
    }

    /// The person, if known.
    package var person: Person? { if case .person(let person) = self { person } else { nil } }

    /// The value of `author` in the journal and in conversations' files; nil for ``unnamedPerson``.
    package var name: String? {
        switch self {
        case .handler: "handler"
        case .program: "program"
        case .server: "server"
        case .person: "person"
        case .unnamedPerson: nil
        }
    }

    /// Parses the author from a journal record or a conversation's line; nil when no author is named.
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
    /// Writes the members `author` and `person` of a conversation's line.
    package mutating func line(author: MessageAuthor?) {
        // Runs for each message and each line.
        guard let name = author?.name else { return }
        field("author", name)
        guard let person = author?.person else { return }
        key("person")
        person.write(to: &self)
    }

    /// Writes the author's members of a journal record.
    ///
    /// They are those of a conversation's line, or `"person":true` for `MessageAuthor.unnamedPerson`.
    mutating func record(author: MessageAuthor?) {
        if author == .unnamedPerson { field("person", true) }
        line(author: author)
    }
}
