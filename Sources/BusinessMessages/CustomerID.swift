/// The opaque identity of a customer towards one business.
///
/// On the wire `urn:mbid:` and a Base64 tail that may hold `+`, `/` and `=`, or `tel:+…` for someone who was
/// invited. Stable per customer and business; never decoded, folded or trimmed.
public struct CustomerID: RawRepresentable, Hashable, Sendable {
    /// The identifier as it stands on the wire.
    public let rawValue: String

    /// Takes the identifier as it stands on the wire.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// Takes the identifier as it stands on the wire.
    public init(_ rawValue: String) { self.rawValue = rawValue }

    /// Compares bytes; `String` would take canonically equivalent spellings for the same.
    public static func == (left: CustomerID, right: CustomerID) -> Bool {
        left.rawValue.hasSameBytes(as: right.rawValue)
    }
}

extension CustomerID: CustomStringConvertible {
    /// The identifier as it stands on the wire.
    public var description: String { rawValue }
}
