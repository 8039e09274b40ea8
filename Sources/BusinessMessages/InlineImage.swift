internal import BalloonJSON

/// An image inside an interactive message: `{"identifier": "1", "description": "…", "data": "iVBOR…"}`.
public struct InlineImage: Sendable {
    /// The identifier that an `imageIdentifier` refers to.
    public let identifier: String?
    /// The text that VoiceOver reads aloud.
    public let description: String?
    private let value: JSONValue

    init(_ value: JSONValue) {
        self.value = value
        identifier = value["identifier"]?.scalarString
        description = value["description"]?.nonEmptyString
    }

    /// The image's bytes in Base64; each call copies them from the message.
    public var base64: String? { value["data"]?.nonEmptyString }
}
