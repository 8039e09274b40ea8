/// The direction of a message.
public enum Direction: String, CaseIterable, Sendable {
    /// From the customer to the business.
    case inbound
    /// From the business to the customer.
    case outbound
}
