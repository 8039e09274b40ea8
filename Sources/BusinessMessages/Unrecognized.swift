internal import BalloonJSON

/// A message of an unknown kind, or with too many parts; its JSON is the event's `message`.
public struct Unrecognized: Equatable, Sendable {
    /// The body's `type`.
    public let type: String?
    /// The names in `interactiveData.data`, or in `interactiveData` without `data`: a hint at the kind.
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

    /// Describes a message over a limit without decoding its parts.
    init(_ message: JSONValue, excess: String) {
        type = message["type"]?.scalarString
        self.excess = excess
        markers = []
    }
}
