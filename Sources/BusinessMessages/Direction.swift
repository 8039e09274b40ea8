/// Which way a message goes.
public enum Direction: String, CaseIterable, Sendable {
    /// From the customer to the business.
    case inbound
    /// From the business to the customer.
    case outbound
}
