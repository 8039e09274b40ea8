internal import BalloonJSON

/// A message of a kind that is not known here, or of more parts than are read; its JSON is the event's `message`.
public struct Unrecognized: Equatable, Sendable {
    /// The body's `type`.
    public let type: String?
    /// The names in `interactiveData.data`, or of `interactiveData` where it has none: a hint at what it is.
    public let markers: [String]
    /// Which bound the message exceeds, for example `3400000 attachments; at most 100 are read`; nil when its kind is
    /// not known.
    public let excess: String?

    init(_ message: JSONValue) {
        type = message["type"]?.scalarString
        excess = nil
        let interactiveData = message["interactiveData"]?.object
        let described = interactiveData?["data"]?.object ?? interactiveData
        markers = described?.members.map(\.key) ?? []
    }

    /// Reads no part of a message that has too many.
    init(_ message: JSONValue, excess: String) {
        type = message["type"]?.scalarString
        self.excess = excess
        markers = []
    }
}
