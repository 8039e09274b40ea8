/// The opaque identity of a customer for one business.
///
/// In messages it is `urn:mbid:` followed by Base64, which may contain `+`, `/` and `=`, or `tel:+…` for an invited
/// person. It is stable for one customer and one business, and must never be decoded, case-folded or trimmed.
public struct CustomerID: WireIdentifier {
    /// The identifier's text in messages.
    public let rawValue: String

    /// Creates an identifier from its text in messages.
    public init(rawValue: String) { self.rawValue = rawValue }
}
