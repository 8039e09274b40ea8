public import BalloonJSON

/// The result of an Apple Pay request.
///
/// Apple does not document the shape; what is there is kept in `payment`. The payment token in it is a
/// secret: it belongs in no log and no file.
public struct ApplePay: Sendable {
    /// The status, wherever it stood.
    public let status: String?
    /// The object `payment`.
    public let payment: JSONValue?
    /// What every interactive message has.
    public let interaction: Interaction

    /// Whether an interactive message's `data` is about a payment.
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
