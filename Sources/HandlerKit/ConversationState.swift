public import BusinessMessages
internal import Synchronization

/// What a handler remembers of one conversation: a JSON object of at most 32 KiB.
///
/// ```swift
/// context.state["step"] = "colour"
/// ```
/// What is changed before the handler returns is kept together with its ``Outcome``: on disk before the first reply is
/// sent, and not at all when the event is to come again. The next event of the conversation sees it, also after a
/// restart.
public final class ConversationState: Sendable {
    /// The most bytes of JSON that are kept.
    public static let maximumBytes = 32 << 10

    private struct Members {
        var json: [(name: String, text: [UInt8])] = []
        var isChanged = false
    }

    private let members: Mutex<Members>

    /// Makes a state that remembers the members of `object`, or nothing.
    public init(_ object: JSONValue? = nil) {
        members = Mutex(Members(json: object.map(Self.members) ?? []))
    }

    /// A member that is a text; nil when there is none, and nil to forget it.
    public subscript(name: String) -> String? {
        get {
            members.withLock { $0.json.last { $0.name == name }?.text }
                .flatMap { (try? JSONDocument($0))?.root.string }
        }
        set {
            let text = newValue.map { value in
                var writer = JSONWriter()
                writer.string(value)
                return writer.finish()
            }
            members.withLock { members in
                members.isChanged = true
                members.json.removeAll { $0.name == name }
                if let text { members.json.append((name, text)) }
            }
        }
    }

    /// The whole object, as JSON; nil when nothing is remembered.
    public var json: JSONValue? {
        let text = members.withLock { $0.json.isEmpty ? nil : Self.text($0.json) }
        // What a writer wrote is JSON.
        return text.flatMap { try? JSONDocument($0) }?.root
    }

    /// Whether nothing is remembered.
    public var isEmpty: Bool { members.withLock { $0.json.isEmpty } }

    /// Remembers the members of `object` and nothing else.
    public func replace(with object: JSONValue) {
        let json = Self.members(object)
        members.withLock { $0 = Members(json: json, isChanged: true) }
    }

    /// Forgets everything.
    public func clear() { members.withLock { $0 = Members(isChanged: true) } }

    /// The object as JSON when it was changed, `null` when nothing is left of it; nil when it was not changed.
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
                writer.key(member.name)
                writer.raw(member.text)
            }
        }
    }
}
