/// One file of the event's message, as the server stored it.
///
/// The message contains the file's name and media type. Both are claims of the device: never use them as a path, and
/// do not trust them.
public enum AttachmentFile: Hashable, Sendable {
    /// The content is at `path`, which the handler may read but must not change; the hash has 64 lower-case
    /// hexadecimal digits.
    case stored(path: String, sizeBytes: Int, sha256: String)
    /// The file could not be downloaded; the reason is for the log.
    case missing(reason: String)
}
