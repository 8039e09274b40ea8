/// One file of the event's message, as the server stored it.
///
/// The message itself contains a file name and a media type. The customer's device chooses both: do not trust
/// them, and never use the name as a path.
public enum AttachmentFile: Hashable, Sendable {
    /// The content is at `path`, and its hash has 64 lower-case hexadecimal digits.
    ///
    /// The handler may read the file but must not change it.
    case stored(path: String, sizeBytes: Int, sha256: String)
    /// The file could not be downloaded; the reason is for the log.
    case missing(reason: String)
}
