internal import BalloonJSON

/// A file of the business's own that goes with a text; the server encrypts and uploads it when it sends the message.
///
/// ```json
/// {"name": "offer.pdf", "mimeType": "application/pdf", "path": "/srv/offers/7.pdf"}
/// ```
/// It is copied when the handler returns, and may be removed then.
public struct OutboundFile: Hashable, Sendable {
    /// Where the file is, absolute or relative to the server's working directory; at most 100 MB.
    public let path: String
    /// The file's name as the customer sees it.
    public let name: String
    /// The media type; Apple refuses none.
    public let mimeType: String

    /// Names a file; it is called what stands behind the last slash of its path unless said otherwise.
    public init(path: String, name: String? = nil, mimeType: String) {
        self.path = path
        self.name = name ?? path.split(separator: "/").last.map(String.init) ?? path
        self.mimeType = mimeType
    }

    func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.field("name", name)
            writer.field("mimeType", mimeType)
            writer.field("path", path)
        }
    }
}
