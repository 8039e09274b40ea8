/// The reason why a webhook's envelope is refused; always the sender's fault, always answered with 400.
public enum EnvelopeError: Error, Equatable, Sendable {
    /// A field of the envelope, in the spelling of the header or the body.
    public enum Field: String, Sendable {
        /// `id`.
        case id
        /// `source-id`, `sourceId` in the body.
        case sourceID = "source-id"
        /// `destination-id`, `destinationId` in the body.
        case destinationID = "destination-id"
        /// `type`, in the body only.
        case type
    }

    /// The body is JSON, but not an object.
    case notAnObject
    /// The field is absent or empty in both header and body.
    case missing(Field)
    /// The field is not a string, not UTF-8, or contains control characters.
    case malformed(Field)
    /// The field is longer than `limitBytes`.
    case tooLong(Field, limitBytes: Int)
    /// Header and body differ; the sender must correct the message, since a retry does not help.
    case disagreement(Field)
}
