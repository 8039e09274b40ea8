/// The identity of the delivery of one event to one handler; the same on every attempt.
public struct DeliveryID: RawRepresentable, Hashable, Sendable {
    /// The identifier's text in the journal.
    public let rawValue: String

    /// Creates an identifier from its text in the journal.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// Creates an identifier from its text in the journal.
    public init(_ rawValue: String) { self.rawValue = rawValue }

    /// Compares the bytes of two identifiers; `String` would also treat canonically equivalent spellings as equal.
    public static func == (left: DeliveryID, right: DeliveryID) -> Bool {
        left.rawValue.hasSameBytes(as: right.rawValue)
    }
}

extension DeliveryID: CustomStringConvertible {
    /// The identifier's text in the journal.
    public var description: String { rawValue }
}
