public import BalloonJSON

/// The result of an Apple Pay request.
///
/// ```json
/// "payment": {"state": "paid", "paymentRequest": {…}, "merchantSession": {…}, "endpoints": {…}}
/// ```
/// Apple does not document this shape; it was captured from a device. Only the business's own payment gateway
/// knows whether the customer was charged.
public struct ApplePay: Sendable {
    /// The state of a payment as the device reports it; a state that is not listed here keeps its text.
    public struct State: RawRepresentable, Hashable, Sendable {
        /// The request can be paid.
        public static let valid = State(rawValue: "valid")
        /// The request cannot be paid.
        public static let invalid = State(rawValue: "invalid")
        /// The request is too old.
        public static let expired = State(rawValue: "expired")
        /// The customer paid.
        public static let paid = State(rawValue: "paid")
        /// The payment was declined.
        public static let declined = State(rawValue: "declined")
        /// The device has no card yet.
        public static let setup = State(rawValue: "setup")
        /// The device cannot pay with Apple Pay.
        public static let unavailable = State(rawValue: "unavailable")
        /// The customer ended the payment, or it failed.
        public static let paymentNotCompleted = State(rawValue: "paymentNotCompleted")

        /// The text in the message.
        public let rawValue: String

        /// Creates a state.
        public init(rawValue: String) { self.rawValue = rawValue }
    }

    /// The state that the device reports; nil when it reports none.
    public let state: State?
    /// The object `payment`.
    public let payment: JSONValue?
    /// The fields that all interactive messages have in common.
    public let interaction: Interaction

    /// Whether an interactive message's `data` concerns a payment.
    static func isShown(in data: JSONValue) -> Bool { data.first("payment", "applePay") != nil }

    init(_ data: JSONValue, _ interaction: Interaction) {
        payment = data.first("payment", "applePay")?.object
        state = payment?.first("state")?.scalarString.map(State.init)
        self.interaction = interaction
    }
}

extension ApplePay.State: CustomStringConvertible {
    /// The text in the message.
    public var description: String { rawValue }
}
