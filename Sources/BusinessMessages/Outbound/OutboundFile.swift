package import BalloonJSON

/// A local file to send with a text; the server encrypts and uploads it when it sends the message.
///
/// ```json
/// {"name": "offer.pdf", "mimeType": "application/pdf", "path": "/srv/offers/7.pdf"}
/// ```
/// The server copies the file when the handler returns; afterwards the handler may remove it.
public struct OutboundFile: Hashable, Sendable, JSONWritable {
    /// The path of the file, absolute or relative to the server's working directory.
    ///
    /// The file has at most 100 MB.
    public let path: String
    /// The file name shown to the customer.
    public let name: String
    /// The media type; Apple accepts every type.
    public let mimeType: String

    /// Creates a reference to a file.
    ///
    /// The default name is the last component of its path, and the default type that of the name's extension.
    public init(path: String, name: String? = nil, mimeType: String? = nil) {
        self.path = path
        let name = name ?? path.split(separator: "/").last.map(String.init) ?? path
        self.name = name
        self.mimeType = mimeType ?? MediaType.ofFile(named: name)
    }

    package func write(to writer: inout JSONWriter) {
        writer.object(["name": name, "mimeType": mimeType, "path": path])
    }
}
