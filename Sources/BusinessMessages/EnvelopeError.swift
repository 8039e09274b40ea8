/// The reason why the server refuses a webhook's envelope.
///
/// The fault is always the sender's, and the answer is always 400.
public enum EnvelopeError: Error, Equatable, Sendable {
    /// A field of the envelope; the raw value is the name of the header, or of the body's member if there is
    /// no header.
    public enum Field: String, Sendable {
        /// The header `id`, or the member `id` of the body.
        case id
        /// The header `source-id`, or `sourceId` in the body.
        case sourceID = "source-id"
        /// The header `destination-id`, or `destinationId` in the body.
        case destinationID = "destination-id"
        /// The member `type` of the body.
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
    /// The header and the body have different values; a retry does not help until the sender corrects the
    /// message.
    case disagreement(Field)
}
