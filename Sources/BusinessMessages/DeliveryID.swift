/// The identity of one event's way to one handler; the same on every attempt.
public struct DeliveryID: RawRepresentable, Hashable, Sendable {
    /// The identifier as the journal has it.
    public let rawValue: String

    /// Takes the identifier as the journal has it.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// Takes the identifier as the journal has it.
    public init(_ rawValue: String) { self.rawValue = rawValue }

    /// Compares bytes; `String` would take canonically equivalent spellings for the same.
    public static func == (left: DeliveryID, right: DeliveryID) -> Bool {
        left.rawValue.hasSameBytes(as: right.rawValue)
    }
}

extension DeliveryID: CustomStringConvertible {
    /// The identifier as the journal has it.
    public var description: String { rawValue }
}
