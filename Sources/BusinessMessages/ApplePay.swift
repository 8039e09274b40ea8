public import BalloonJSON

/// The result of an Apple Pay request.
///
/// Apple does not document the shape; the complete object is in `payment`. The payment token in it is a
/// secret: never log or store it.
public struct ApplePay: Sendable {
    /// The payment's status, from whichever known place of the message has it.
    public let status: String?
    /// The object `payment`.
    public let payment: JSONValue?
    /// The fields that all interactive messages have in common.
    public let interaction: Interaction

    /// Whether an interactive message's `data` concerns a payment.
    static func isShown(in data: JSONValue) -> Bool {
        (data.first("payment", "applePay") ?? data.first("paymentStatus")) != nil
    }

    init(_ data: JSONValue, _ interaction: Interaction) {
        payment = data.first("payment", "applePay")?.object
        status =
            (data.first("paymentStatus", "status") ?? payment?.first("paymentStatus", "status"))?.scalarString
        self.interaction = interaction
    }
}
