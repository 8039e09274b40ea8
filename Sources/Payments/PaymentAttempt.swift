package import BalloonPOSIX
import BalloonWire

/// An attempt to pay with one payment token, which the handler charges at most once.
package struct PaymentAttempt: Hashable, Sendable {
    /// The progress of an attempt.
    ///
    /// ```
    ///   begun ──> succeeded
    ///     ├─────> failed
    ///     └─ late, crashed, unusable ──> reversing ──> reversed | unreversed ──> dropped
    /// ```
    package enum State: String, Sendable, CaseIterable {
        /// The handler may be called; nothing is known about the charge.
        case begun
        /// The handler charged the sum; ``isTold`` says whether the device knows of the success.
        case succeeded
        /// The handler declined.
        case failed
        /// The device got a failure although the charge may exist; the handler must reverse the charge.
        case reversing
        /// The handler reversed the charge, or found none.
        case reversed
        /// The handler did not confirm the reversal in time; an operator must check the charge at the payment
        /// provider.
        ///
        /// The attempt is a dead letter.
        case unreversed
        /// An operator dropped the dead letter; the server no longer asks for a reversal.
        case dropped
    }

    /// The key of the attempt at the payment provider: 64 hexadecimal digits.
    package let id: String
    /// The sum that the handler was asked to charge, as decimal text.
    package let amount: String
    /// The SHA-256 of the transaction in the decrypted token, 64 hexadecimal digits; nil without decryption.
    package let transaction: String?
    /// The time of the gateway call.
    package let begunAt: Timestamp
    /// The progress.
    package internal(set) var state = State.begun
    /// The time of the latest change of `state`.
    package internal(set) var changedAt: Timestamp
    /// The answer to the device, a JSON object; the same for each repeated call.
    package internal(set) var answer: [UInt8]?
    /// The payment provider's reference to the charge, as the handler reported it.
    package internal(set) var reference: String?
    /// Whether the device is known to have got the success, or Apple's event says that the request is paid.
    package internal(set) var isTold = false
    /// The number of reversals that failed.
    package internal(set) var failures = 0

    init(id: String, amount: String, transaction: String? = nil, begunAt: Timestamp) {
        self.id = id
        self.amount = amount
        self.transaction = transaction
        self.begunAt = begunAt
        changedAt = begunAt
    }

    /// Returns the identifier: the SHA-256 of the request's identifier, a zero byte and the token's encrypted
    /// data.
    package static func id(requestIdentifier: String, encryptedData: [UInt8]) -> String {
        Hex.encode(SHA256.hash(Array(requestIdentifier.utf8) + [0] + encryptedData))
    }
}
