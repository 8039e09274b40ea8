package import BalloonJSON
package import BalloonPOSIX
import BusinessMessages

/// A record for people about a conversation: a note, or a change of what is known about the customer.
///
/// It is a message of the journal whose act is ``ReceivedMessage/Act/internal``, and a line of the conversation's file.
/// It is never sent. Only a `consent` reaches a handler, which must name it.
package enum InternalMessage: Hashable, Sendable {
    /// `{"type":"note","body":"…"}`: a note at its place of the thread.
    case note(String)
    /// `{"type":"customer","name":"Ana","addTags":["vip"],"removeTags":["new"]}`; each member is optional, and an empty
    /// name removes the name.
    case customer(name: String?, addTags: [String] = [], removeTags: [String] = [])
    /// `{"type":"consent","state":"given","at":"…","words":"subscribe","types":["offers"]}`.
    case consent(Consent)
    /// `{"type":"survey","score":4}`: the customer's score of the conversation, from 1 to 5.
    case survey(Int)
    /// `{"type":"assignment","state":"person","person":{"id":"agent-7","name":"Ana"},"queue":"returns"}`: who answers now,
    /// and the queue in which the conversation waits or waited.
    case assignment(Assignment)

    /// The maximum length of a note in UTF-8.
    package static let maximumNoteBytes = 8000

    /// The message as the journal and the conversation's file have it.
    ///
    /// `sourceId` is the business, as in every message that does not come from the customer.
    package func json(of business: String) -> [UInt8] {
        JSONWriter.object { writer in
            switch self {
            case .note(let text): writer.fields(["type": "note", "body": text])
            case .customer(let name, let added, let removed):
                writer.fields([
                    "type": "customer", "name": name, "addTags": added.isEmpty ? nil : added,
                    "removeTags": removed.isEmpty ? nil : removed,
                ])
            case .consent(let consent):
                writer.field("type", "consent")
                consent.write(to: &writer)
            case .survey(let score): writer.fields(["type": "survey", "score": score])
            case .assignment(let assignment):
                writer.fields([
                    "type": "assignment", "state": assignment.state.rawValue, "person": assignment.person,
                    "queue": assignment.placement?.queue,
                ])
            }
            writer.field("sourceId", business)
        }
    }

    /// The record of the change that an ``assignment(_:)`` tells.
    var change: UInt64? { if case .assignment(let assignment) = self { assignment.record } else { nil } }

    /// The type in the message's JSON, which is the `kind` of its line.
    static func type(of message: [UInt8]) -> String {
        // The journal contains only validated JSON.
        (try? JSONDocument(message, limits: .journal))?.root["type"]?.string ?? "note"
    }
}

/// A customer's answer to the question whether the business may write later.
package struct Consent: Hashable, Sendable {
    /// Whether the customer agreed; false after a withdrawal.
    package var isGiven: Bool
    /// The time of the customer's message.
    package var at: Timestamp
    /// The text with which the customer agreed or withdrew; nil for a choice in the list of types.
    package var words: String?
    /// The types of messages that the customer chose; empty means all.
    package var types: [String]

    /// Creates an answer.
    package init(isGiven: Bool, at: Timestamp, words: String?, types: [String]) {
        (self.isGiven, self.at, self.words, self.types) = (isGiven, at, words, types)
    }

    /// Reads the answer in an ``InternalMessage``; nil in any other message.
    package init?(message: [UInt8]) {
        // The journal contains only validated JSON.
        guard let root = (try? JSONDocument(message, limits: .journal))?.root,
            root["type"]?.string == "consent"
        else { return nil }
        self.init(root)
    }

    init?(_ root: JSONValue?) {
        guard let state = root?["state"]?.string, let at = root?.timestamp("at") else { return nil }
        self.init(
            isGiven: state == "given", at: at, words: root?["words"]?.string,
            types: root?["types"]?.elements.compactMap(\.string) ?? [])
    }

    /// Writes `"state":"given","at":"…","words":"…","types":[…]`.
    package func write(to writer: inout JSONWriter) {
        writer.fields([
            "state": isGiven ? "given" : "withdrawn", "at": at.rfc3339, "words": words, "types": types,
        ])
    }
}

/// The facts about the customer of a conversation that people and the server recorded.
package struct CustomerDetails: Hashable, Sendable {
    /// The name of the customer, whom Apple identifies by a number only; nil when none was given.
    package var name: String?
    /// The tags of the conversation, sorted.
    package var tags: [String] = []
    /// The last answer of the customer; nil when there was none.
    package var consent: Consent?

    /// The maximum length of a name or tag in UTF-8.
    package static let maximumBytes = 100
    /// The maximum number of tags; later ones are ignored.
    package static let maximumTags = 50

    /// Creates details without a name, tags and consent.
    package init() {}

    init(_ root: JSONValue?) {
        name = root?["name"]?.string
        tags = root?["tags"]?.elements.compactMap(\.string) ?? []
        consent = Consent(root?["consent"])
    }

    /// Applies a message in the form of ``InternalMessage/json(of:)``.
    package mutating func apply(_ message: JSONValue) {
        switch message["type"]?.string {
        case "customer":
            if let name = message["name"]?.string { self.name = name.isEmpty ? nil : name }
            var tags = Set(tags).subtracting(message["removeTags"]?.elements.compactMap(\.string) ?? [])
            for tag in message["addTags"]?.elements.compactMap(\.string) ?? []
            where tags.count < Self.maximumTags { tags.insert(tag) }
            self.tags = tags.sorted()
        case "consent":
            // A choice in an older list of types ends no withdrawal; only the customer's word does.
            guard let answer = Consent(message), answer.types.isEmpty || consent?.isGiven != false else {
                break
            }
            consent = answer
        default: break
        }
    }

    /// Whether the name or a tag contains the text, which is in small letters.
    func contains(_ lowercased: String) -> Bool {
        ([name ?? ""] + tags).contains { $0.lowercased().contains(lowercased) }
    }

    func write(to writer: inout JSONWriter) {
        writer.field("name", name)
        writer.list("tags", tags)
        guard let consent else { return }
        writer.object("consent") { consent.write(to: &$0) }
    }
}

extension ConversationLine {
    /// The line's `kind`: that of the message, or the type of an internal message.
    package var kindName: String {
        direction == .internal ? message["type"]?.string ?? "note" : kind.rawValue
    }

    /// An internal message in words: `note: Wants the blue one`.
    package var internalSummary: String {
        func texts(_ name: String) -> String {
            message[name]?.elements.compactMap(\.string).joined(separator: ", ") ?? ""
        }
        let parts: [(String, String?)] = [
            ("", message["body"]?.string), ("name ", message["name"]?.string), ("+", texts("addTags")),
            ("-", texts("removeTags")), ("", message["state"]?.string), ("types ", texts("types")),
            ("", message["person"].flatMap { $0["name"]?.string ?? $0["id"]?.string }),
            ("queue ", message["queue"]?.string),
            ("score ", message["score"]?.int.map { "\($0)" }),
        ]
        let words = parts.compactMap { label, text in text.flatMap { $0.isEmpty ? nil : label + $0 } }
        return "\(kindName): " + words.joined(separator: "  ")
    }
}
