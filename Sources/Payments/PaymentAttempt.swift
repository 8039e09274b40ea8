package import BalloonPOSIX
import BalloonWire

/// An attempt to pay with one payment token, which the handler charges at most once.
package struct PaymentAttempt: Hashable, Sendable {
    /// The progress of an attempt; ``after(_:)`` has every change.
    ///
    /// ```
    ///   begun ──> succeeded
    ///     ├─────> failed
    ///     ├─────> reversing
    ///     └─ late, crashed, no answer ──> uncertain ──> reversing ──> reversed | unreversed ──> dropped
    /// ```
    package enum State: String, Sendable, CaseIterable {
        /// The handler may be called; nothing is known about the charge.
        case begun
        /// The device got a failure, and the handler may still charge; a late answer of its call decides.
        ///
        /// A reversal is requested meanwhile. Its confirmation decides nothing, because the charge may follow
        /// it.
        case uncertain
        /// The handler charged the sum; ``isTold`` says whether the device knows of the success.
        case succeeded
        /// The handler declined, or was provably not called.
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

    /// A fact about an attempt that may change its state.
    package enum Event: String, Sendable, CaseIterable {
        /// The attempt's own call was answered: the sum is charged.
        case charged
        /// The attempt's own call was answered: nothing is charged.
        case declined
        /// The attempt's own call was answered with JSON that breaks the rules, or names another sum.
        case misanswered
        /// The call provably never left: the handler was not asked.
        case notCalled
        /// The device's time is over, and the call continues.
        case late
        /// The call ended without an answer, and its end was seen: a thrown error, or the end of the process.
        case ended
        /// The call ended without an answer, and the handler may still work on it.
        case lost
        /// The process that made the call is gone.
        case restarted
        /// The call can no longer charge, as far as the waits of ``PaymentTimings`` go.
        case due
        /// The time for reversals is over.
        case expired
        /// The handler confirmed a reversal that was begun in the present state.
        case confirmed
        /// The device did not get the success.
        case untold
        /// An operator has the reversal retried.
        case retried
        /// An operator ends the reversal.
        case dropped
    }

    /// The key of the attempt at the payment provider: 64 hexadecimal digits.
    package let id: String
    /// The sum that the handler was asked to charge, as decimal text.
    package let amount: String
    /// The SHA-256 of the transaction in the decrypted token, 64 hexadecimal digits; nil without decryption.
    package let transaction: String?
    /// The time of the gateway call, or the first later time that a clock showed which was behind it.
    package internal(set) var begunAt: Timestamp
    /// The progress.
    package internal(set) var state = State.begun
    /// The time of the latest change of `state`.
    package internal(set) var changedAt: Timestamp
    /// The number of changes of `state`.
    ///
    /// A reversal counts only for the turn in which it was begun.
    package internal(set) var turn = 0
    /// The time at which the call's end without an answer was seen; nil when nobody saw it.
    package internal(set) var endSeenAt: Timestamp?
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

    /// Changes the state after an event; returns whether the attempt has changed.
    mutating func apply(_ event: Event, answer: [UInt8]? = nil, at now: Timestamp) -> Bool {
        let next = state.after(event)
        let isUndecided = state == .begun || state == .uncertain
        let seesEnd = event == .ended && isUndecided && endSeenAt == nil
        if seesEnd { endSeenAt = now }
        // An answer that arrives during a reversal begins another one: the earlier may have found no charge.
        let beginsAgain = state == .reversing && (event == .charged || event == .misanswered)
        guard next != state || beginsAgain else { return seesEnd }
        if next == .reversing { failures = 0 }
        (state, changedAt, turn) = (next, now, turn &+ 1)
        self.answer = answer ?? self.answer
        return true
    }

    /// The time from which a reversal decides about an uncertain attempt; `start` is the server's start.
    func reversibleAt(_ timings: PaymentTimings, since start: Timestamp) -> Timestamp {
        let end = endSeenAt?.advanced(by: timings.pause) ?? begunAt.advanced(by: timings.call)
        return max(end, start.advanced(by: timings.pause))
    }

    /// Begins the waits again when the clock is behind a time that they count from.
    mutating func restartWaits(at now: Timestamp) {
        begunAt = min(begunAt, now)
        changedAt = min(changedAt, now)
        endSeenAt = endSeenAt.map { min($0, now) }
    }
}

extension PaymentAttempt.State {
    /// The state that follows an event; the same state when the event says nothing new.
    package func after(_ event: PaymentAttempt.Event) -> Self {
        switch (event, self) {
        // Only an answer within the device's time is a success, which the device is then told of.
        case (.charged, .begun), (.charged, .succeeded), (.misanswered, .succeeded): .succeeded
        // A charge that the device does not know of is reversed, also after a reversal that found nothing.
        case (.charged, _), (.misanswered, _): .reversing
        // Only the call itself can say that it charged nothing and will charge nothing.
        case (.declined, .begun), (.declined, .uncertain), (.declined, .reversing), (.declined, .unreversed),
            (.notCalled, .begun), (.notCalled, .uncertain), (.notCalled, .reversing),
            (.notCalled, .unreversed):
            .failed
        case (.late, .begun), (.ended, .begun), (.lost, .begun), (.restarted, .begun): .uncertain
        case (.due, .uncertain), (.untold, .succeeded), (.retried, .unreversed): .reversing
        case (.expired, .uncertain), (.expired, .reversing): .unreversed
        case (.confirmed, .reversing): .reversed
        case (.dropped, .unreversed): .dropped
        default: self
        }
    }

    /// Whether the attempt certainly charged nothing that remains, so that the customer may pay again.
    package var admitsAnother: Bool {
        switch self {
        case .failed, .reversed: true
        case .begun, .uncertain, .succeeded, .reversing, .unreversed, .dropped: false
        }
    }
}
