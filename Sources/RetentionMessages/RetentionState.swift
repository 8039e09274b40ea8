/// The state of a message or an image at the App Store; the raw value is the one in its lists.
public enum RetentionState: String, Sendable, Hashable, CaseIterable {
    /// Apple checks it.
    case pending = "PENDING"
    /// It can be shown.
    case approved = "APPROVED"
    /// Apple refused it.
    case rejected = "REJECTED"
}
