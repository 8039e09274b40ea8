import BalloonJSON

/// The reason that the payment sheet shows with a failed payment.
package enum PaymentFailure: String, Sendable, CaseIterable {
    /// The handler was not called.
    case notCharged = "The payment was not started, and nothing was charged. Please try again."
    /// The handler declined and named no problem.
    case declined = "The payment was declined, and nothing was charged."
    /// The charge may exist.
    case uncertain =
        "The payment was not completed. If you were charged, the money is returned. Please do not pay again before you hear from us."
    /// Another token of the request is charged or reversed.
    case otherAttempt =
        "An earlier payment is still being checked. Please do not pay again before you hear from us."
    /// The request is paid.
    case paid = "This request is already paid."
    /// The request accepts no further payment.
    case ended = "This request has ended. Please ask for a new one in Messages."
    /// The sheet and the server disagree about the total.
    case totalChanged =
        "The total has changed, and nothing was charged. Please close this sheet and try again."

    /// The answer to the device, with the reason as its only error.
    package var answer: [UInt8] {
        JSONWriter.object([
            "status": "STATUS_FAILURE",
            "errors": [JSONObject(["code": "unknown", "message": rawValue])],
        ])
    }
}

extension Payment.Refusal {
    /// The reason that the sheet shows.
    package var failure: PaymentFailure {
        switch self {
        case .ended, .tooManyAttempts: .ended
        case .otherAttempt, .reversal: .otherAttempt
        case .paid: .paid
        case .shippingMethod, .tokenAmount, .pendingUpdate: .totalChanged
        }
    }
}
