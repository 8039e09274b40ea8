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

    init(_ message: JSONValue) {
        type = message["type"]?.scalarString
        excess = nil
        let interactiveData = message["interactiveData"]?.object
        let described = interactiveData?["data"]?.object ?? interactiveData
        markers = described?.members.map(\.key) ?? []
    }

    /// Creates the content of a message that exceeds a limit, without decoding the message's parts.
    init(_ message: JSONValue, excess: String) {
        type = message["type"]?.scalarString
        self.excess = excess
        markers = []
    }
}
