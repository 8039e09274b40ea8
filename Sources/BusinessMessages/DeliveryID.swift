/// The identity of the delivery of one event to one handler; every attempt of the delivery has the same
/// identity.
///
/// A server builds it from the identity of the data directory (32 hexadecimal digits), a dot, and the number
/// of the event's record. A directory that is restored from a backup gets a new identity, so that two events
/// never share an identifier.
public struct DeliveryID: RawRepresentable, Hashable, Sendable {
    /// The identifier's text.
    public let rawValue: String

    /// Creates an identifier from its text.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// Creates an identifier from its text.
    public init(_ rawValue: String) { self.rawValue = rawValue }

    /// Compares the bytes of two identifiers; `String` would also treat canonically equivalent spellings as equal.
    public static func == (left: DeliveryID, right: DeliveryID) -> Bool {
        left.rawValue.hasSameBytes(as: right.rawValue)
    }
}

extension DeliveryID: CustomStringConvertible {
    /// The identifier's text.
    public var description: String { rawValue }
}
