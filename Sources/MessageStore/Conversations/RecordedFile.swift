package import BalloonJSON
import BusinessMessages

/// The result of one attachment of a message: `{"sha256":"…","size":148861}` or `{"failure":"…"}`.
package enum RecordedFile: Hashable, Sendable, JSONWritable {
    /// The content is stored under its SHA-256, 64 lower-case hexadecimal digits.
    case stored(sha256: String, sizeBytes: Int)
    /// The file could not be downloaded; the reason contains no customer text.
    case failed(reason: String)

    init?(_ value: JSONValue) {
        if let sha256 = value["sha256"]?.string, let size = value["size"]?.int {
            self = .stored(sha256: sha256, sizeBytes: size)
        } else if let reason = value["failure"]?.string {
            self = .failed(reason: reason)
        } else {
            return nil
        }
    }

    /// Parses the member `files` of a record or a line; a list above the attachment limit counts as empty.
    static func list(in root: JSONValue) -> [RecordedFile]? {
        root["files"].map { files in
            // Earlier versions downloaded any number of attachments. This version downloads none when a
            // message has more than the limit.
            files.count > MessageBounds.standard.attachments
                ? [] : files.elements.compactMap { RecordedFile($0) }
        }
    }

    /// Writes `{"sha256":"…","size":148861}` or `{"failure":"…"}`.
    package func write(to writer: inout JSONWriter) {
        switch self {
        case .stored(let sha256, let sizeBytes): writer.object(["sha256": sha256, "size": sizeBytes])
        case .failed(let reason): writer.object(["failure": reason])
        }
    }
}
