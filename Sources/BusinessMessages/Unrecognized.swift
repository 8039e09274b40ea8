internal import BalloonJSON

/// A message of a kind that is not known here; its JSON is the event's `message`.
public struct Unrecognized: Equatable, Sendable {
    /// The body's `type`.
    public let type: String?
    /// The names in `interactiveData.data`, or of `interactiveData` where it has none: a hint at what it is.
    public let markers: [String]

    init(_ message: JSONValue) {
        type = message["type"]?.scalarString
        let interactiveData = message["interactiveData"]?.object
        let described = interactiveData?["data"]?.object ?? interactiveData
        markers = described?.members.map(\.key) ?? []
    }
}
