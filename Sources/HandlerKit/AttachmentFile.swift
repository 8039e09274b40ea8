/// One file of the event's message, as the server has it.
///
/// Its name and media type stand in the message; both are the device's claims, never a path and no reason to trust it.
public enum AttachmentFile: Hashable, Sendable {
    /// Its content is at `path`, to be read and not to be changed; the hash has 64 lower-case hexadecimal digits.
    case stored(path: String, sizeBytes: Int, sha256: String)
    /// It could not be had; the reason is for the log.
    case missing(reason: String)
}
