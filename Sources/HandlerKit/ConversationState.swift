public import BusinessMessages
internal import Synchronization

/// The state that a handler keeps for one conversation: a JSON object of at most 32 KiB.
///
/// ```swift
/// context.state["step"] = "colour"
/// ```
/// Changes made before the handler returns are stored with its ``Outcome``, on disk before the first reply is
/// sent. They are discarded when the event will be delivered again. The next event of the conversation sees
/// the stored state, also after a restart.
public final class ConversationState: Sendable {
    /// The size limit of the JSON.
    public static let maximumBytes = 32 << 10

    private struct Members {
        var json: [(name: String, text: [UInt8])] = []
        var isChanged = false
    }

    private let members: Mutex<Members>

    /// Creates a state with the members of `object`, or an empty one.
    public init(_ object: JSONValue? = nil) {
        members = Mutex(Members(json: object.map(Self.members) ?? []))
    }

    /// The text of the member with this name; nil when the member is absent or not a text.
    ///
    /// Assigning nil removes the member.
    public subscript(name: String) -> String? {
        get {
            members.withLock { $0.json.last { $0.name == name }?.text }
                .flatMap { (try? JSONDocument($0))?.root.string }
        }
        set {
            let text = newValue.map(JSONWriter.quoted)
            members.withLock { members in
                members.isChanged = true
                members.json.removeAll { $0.name == name }
                if let text { members.json.append((name, text)) }
            }
        }
    }

    /// The whole object, as JSON; nil when it is empty.
    public var json: JSONValue? {
        let text = members.withLock { $0.json.isEmpty ? nil : Self.text($0.json) }
        // This type wrote the JSON, so parsing it succeeds.
        return text.flatMap { try? JSONDocument($0) }?.root
    }

    /// Whether the object is empty.
    public var isEmpty: Bool { members.withLock { $0.json.isEmpty } }

    /// Replaces all members with those of `object`.
    public func replace(with object: JSONValue) {
        let json = Self.members(object)
        members.withLock { $0 = Members(json: json, isChanged: true) }
    }

    /// Removes all members.
    public func clear() { members.withLock { $0 = Members(isChanged: true) } }

    /// The state as JSON if it was changed, `null` if it is now empty; nil if it was not changed.
    package var change: [UInt8]? {
        members.withLock { members in
            guard members.isChanged else { return nil }
            return members.json.isEmpty ? Array("null".utf8) : Self.text(members.json)
        }
    }

    private static func members(_ object: JSONValue) -> [(name: String, text: [UInt8])] {
        object.members.map { ($0.key, Array($0.value.text)) }
    }

    private static func text(_ members: [(name: String, text: [UInt8])]) -> [UInt8] {
        JSONWriter.object(reservingCapacity: 256) { writer in
            for member in members {
                writer.raw(member.name, member.text)
            }
        }
    }
}
