/// The state of a message or an image at the App Store; the raw value is the one in its lists.
public enum RetentionState: String, Sendable, Hashable, CaseIterable {
    /// Apple is still checking the message or image.
    case pending = "PENDING"
    /// The App Store can show the message or image.
    case approved = "APPROVED"
    /// Apple refused the message or image.
    case rejected = "REJECTED"
}
