package import BalloonJSON

/// An image inside an interactive message, at 72 dpi and with 3 pixels for each displayed point.
///
/// ```json
/// {"identifier": "1", "data": "iVBOR…", "description": "A red apple"}
/// ```
/// Apple MSP API, "ImageItem Dictionary".
public struct OutboundImage: Hashable, Sendable, JSONWritable {
    /// The identifier that an `imageIdentifier` refers to; unique in the message.
    public let identifier: String
    /// The file, PNG or JPEG; written as Base64.
    public let bytes: [UInt8]
    /// The text that VoiceOver reads aloud; without it VoiceOver skips the image.
    public let description: String?

    /// Creates an image from a file's bytes.
    public init(_ identifier: String, bytes: [UInt8], description: String? = nil) {
        self.identifier = identifier
        self.bytes = bytes
        self.description = description
    }

    package func write(to writer: inout JSONWriter) {
        writer.object(["identifier": identifier, "data": Base64.encode(bytes), "description": description])
    }
}

extension OutboundImage {
    /// Reads an image from JSON that was validated before.
    init?(_ value: JSONValue) {
        guard let identifier = value["identifier"]?.scalarString, let bytes = value["data"]?.base64Bytes
        else { return nil }
        self.init(identifier, bytes: bytes, description: value["description"]?.string)
    }
}
