internal import BalloonJSON

/// A message of an unknown kind, or with too many parts; its JSON is in ``InboundEvent/message``.
public struct Unrecognized: Equatable, Sendable {
    /// The body's `type`.
    public let type: String?
    /// The names of the members of `interactiveData.data`, which hint at the kind.
    ///
    /// Without `data` they are the names of the members of `interactiveData`.
    public let markers: [String]
    /// The limit that the message exceeds, for example `3400000 attachments; at most 100 are read`; nil for a
    /// message of an unknown kind.
    public let excess: String?

    /// Creates the content of a message; the parts of one that exceeds a limit are not decoded.
    init(_ message: JSONValue, excess: String? = nil) {
        type = message["type"]?.scalarString
        self.excess = excess
        let interactiveData = excess == nil ? message["interactiveData"]?.object : nil
        let described = interactiveData?["data"]?.object ?? interactiveData
        markers = described?.members.map(\.key) ?? []
    }
}
