/// The identity of the delivery of one event to one handler; every attempt of the delivery has the same
/// identity.
///
/// A server builds it from the identity of the data directory (32 hexadecimal digits), a dot, and the number
/// of the event's record. A directory that is restored from a backup gets a new identity, so that two events
/// never share an identifier.
public struct DeliveryID: WireIdentifier {
    /// The identifier's text.
    public let rawValue: String

    /// Creates an identifier from its text.
    public init(rawValue: String) { self.rawValue = rawValue }
}
