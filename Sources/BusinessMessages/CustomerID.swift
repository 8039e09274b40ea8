/// The opaque identity of a customer for one business.
///
/// In messages it is `urn:mbid:` followed by Base64, which may contain `+`, `/` and `=`, or `tel:+…` for an invited
/// person. It is stable for one customer and one business, and must never be decoded, case-folded or trimmed.
public struct CustomerID: RawRepresentable, Hashable, Sendable {
    /// The identifier's text in messages.
    public let rawValue: String

    /// Creates an identifier from its text in messages.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// Creates an identifier from its text in messages.
    public init(_ rawValue: String) { self.rawValue = rawValue }

    /// Compares the bytes of two identifiers; `String` would also treat canonically equivalent spellings as equal.
    public static func == (left: CustomerID, right: CustomerID) -> Bool {
        left.rawValue.hasSameBytes(as: right.rawValue)
    }
}

extension CustomerID: CustomStringConvertible {
    /// The identifier's text in messages.
    public var description: String { rawValue }
}
