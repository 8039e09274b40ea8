internal import BalloonJSON

/// An image that travels inside an interactive message, at @3x and 72 dpi.
///
/// ```json
/// {"identifier": "1", "data": "iVBOR…", "description": "A red apple"}
/// ```
/// Apple MSP API, "ImageItem Dictionary".
public struct OutboundImage: Hashable, Sendable {
    /// What `imageIdentifier` elsewhere refers to; different from those of the message's other images.
    public let identifier: String
    /// The file, PNG or JPEG; written as Base64.
    public let bytes: [UInt8]
    /// What VoiceOver reads aloud; without it VoiceOver passes the image over.
    public let description: String?

    /// Makes an image from a file's bytes.
    public init(_ identifier: String, bytes: [UInt8], description: String? = nil) {
        self.identifier = identifier
        self.bytes = bytes
        self.description = description
    }

    func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.field("identifier", identifier)
            writer.base64("data", bytes)
            writer.field("description", description)
        }
    }
}
