/// Why a webhook's envelope is refused; always the sender's fault, always answered with 400.
public enum EnvelopeError: Error, Equatable, Sendable {
    /// A field of the envelope, as the header or the body spells it.
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
    /// Neither header nor body has the field, or both have it empty.
    case missing(Field)
    /// The field is not a string, not UTF-8 or holds control characters.
    case malformed(Field)
    /// The field is longer than `limitBytes`.
    case tooLong(Field, limitBytes: Int)
    /// Header and body differ; the sender should repair the message, a retry will not help.
    case disagreement(Field)
}
