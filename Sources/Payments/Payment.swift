package import BalloonPOSIX

/// The state of one payment request: the current total, the attempts to pay, and the end.
///
/// The mutating functions decide what happens next. They get the time as a parameter and read no clock. The
/// caller makes the changed value durable before it acts on a decision.
package struct Payment: Hashable, Sendable {
    /// The maximum number of attempts of a request.
    package static let maximumAttempts = 5
    /// The time for which a request still accepts payments after its merchant session has expired.
    package static let graceAfterSession = Duration.seconds(300)
    /// The maximum length in bytes of the reference that a handler reports; a longer reference is cut.
    package static let maximumReferenceBytes = 256

    /// The reason why a request accepts no further payment.
    package enum End: String, Sendable {
        /// Apple's event with the result arrived.
        case event
        /// The handler or an operator withdrew the request.
        case withdrawn
    }

    /// The decision about a device's call of the payment gateway endpoint.
    package enum GatewayDecision: Hashable, Sendable {
        /// Make the payment durable, then call the handler for this new attempt.
        case call(PaymentAttempt)
        /// A call of the handler for this attempt is running: wait for the handler's answer.
        case join(attempt: String)
        /// The attempt has ended: send this answer again.
        case repeated(answer: [UInt8])
        /// Answer `STATUS_FAILURE` without calling the handler.
        case refused(Refusal)
    }

    /// The reason why a gateway call is answered with `STATUS_FAILURE` without calling the handler.
    package enum Refusal: String, Sendable, CaseIterable {
        /// The request has ended.
        case ended
        /// The handler is charging another token of this request.
        case otherAttempt
        /// The request is paid.
        case paid
        /// A charge of this request may have to be reversed.
        case reversal
        /// The request already has five attempts.
        case tooManyAttempts
        /// The current total was calculated for another shipping method than the one in the call.
        case shippingMethod
        /// The decrypted token is for another amount than the current total.
        case tokenAmount
    }

    /// The result of calling the handler.
    package enum Outcome: Hashable, Sendable {
        /// The handler charged this sum.
        case charged(amount: String, reference: String, answer: [UInt8])
        /// The handler declined.
        case declined(answer: [UInt8])
        /// The handler gave no usable answer in time: the charge may exist.
        case unknown
    }

    /// The consequence of a handler's outcome.
    package struct Settlement: Hashable, Sendable {
        /// The answer to the device.
        package let answer: [UInt8]
        /// Whether the handler must reverse the attempt.
        package let needsReversal: Bool
    }

    /// The currency, three letters of ISO 4217.
    package let currency: String
    /// The total that the payment sheet currently shows, as decimal text.
    package private(set) var total: String
    /// The shipping method for which ``total`` was calculated; nil when the request has none.
    package private(set) var shippingMethod: String?
    /// The payment sheet that the customer currently sees, a JSON object like Apple's `paymentRequest`.
    package private(set) var sheet: [UInt8]
    /// The time after which no payment is accepted; nil before the message is sent.
    package private(set) var endsAt: Timestamp?
    /// The reason why the request ended before `endsAt`; nil when it did not.
    package private(set) var end: End?
    /// The attempts, oldest first; at most ``maximumAttempts``.
    package private(set) var attempts: [PaymentAttempt] = []

    /// The answer to the device that reports a failed payment; the customer can try again.
    package static let failure = Array(#"{"status":"STATUS_FAILURE"}"#.utf8)

    /// Creates a payment without attempts, with the sheet of the payment request.
    package init(currency: String, total: String, shippingMethod: String?, sheet: [UInt8]) {
        self.currency = currency
        self.total = total
        self.shippingMethod = shippingMethod
        self.sheet = sheet
    }

    init(
        currency: String, total: String, shippingMethod: String?, sheet: [UInt8], endsAt: Timestamp?,
        end: End?,
        attempts: [PaymentAttempt]
    ) {
        self.init(currency: currency, total: total, shippingMethod: shippingMethod, sheet: sheet)
        self.endsAt = endsAt
        self.end = end
        self.attempts = attempts
    }

    /// Whether a charge may still have to be reversed.
    ///
    /// This is the case while the handler is charging, while a reversal is pending, and after a reversal
    /// failed. It is also the case until the device is known to have got a success.
    package var isBusy: Bool {
        attempts.contains { attempt in
            switch attempt.state {
            case .begun, .reversing, .unreversed: true
            case .succeeded: !attempt.isTold
            case .failed, .reversed, .dropped: false
            }
        }
    }

    /// The attempt that paid the request.
    package var paid: PaymentAttempt? { attempts.first { $0.state == .succeeded } }

    /// The attempts whose reversal is pending.
    package var reversals: [PaymentAttempt] { attempts.filter { $0.state == .reversing } }

    /// Whether the request no longer accepts a payment.
    package func hasEnded(at now: Timestamp) -> Bool { end != nil || endsAt.map { now >= $0 } ?? false }

    /// Sets ``endsAt`` when the message is sent, from the expiry of the message's merchant session.
    package mutating func send(sessionExpiresAt: Timestamp) {
        endsAt = sessionExpiresAt.advanced(by: Self.graceAfterSession)
    }

    /// Decides how to answer a gateway call whose token has the identifier `id`.
    ///
    /// `isSum` compares the current total with the amount in the decrypted token. `transaction` is the hash
    /// of the transaction in that token.
    package mutating func begin(
        attempt id: String, transaction: String? = nil, shippingMethod: String?, at now: Timestamp,
        isSum: (_ total: String) -> Bool = { _ in true }
    ) -> GatewayDecision {
        if let known = attempts.first(where: { $0.id == id }) {
            switch known.state {
            case .begun: return .join(attempt: id)
            case .succeeded, .failed: return .repeated(answer: known.answer ?? Self.failure)
            case .reversing, .reversed, .unreversed, .dropped: return .repeated(answer: Self.failure)
            }
        }
        if hasEnded(at: now) { return .refused(.ended) }
        for attempt in attempts {
            switch attempt.state {
            case .begun: return .refused(.otherAttempt)
            case .succeeded: return .refused(.paid)
            // An operator who dropped the dead letter may have kept the charge.
            case .reversing, .unreversed, .dropped: return .refused(.reversal)
            case .failed, .reversed: continue
            }
        }
        if attempts.count >= Self.maximumAttempts { return .refused(.tooManyAttempts) }
        // A call without a method means that the customer chose none.
        guard shippingMethod == self.shippingMethod else { return .refused(.shippingMethod) }
        guard isSum(total) else { return .refused(.tokenAmount) }
        let attempt = PaymentAttempt(id: id, amount: total, transaction: transaction, begunAt: now)
        attempts.append(attempt)
        return .call(attempt)
    }

    /// Records the result of calling the handler; returns the answer to the device and whether a reversal
    /// follows.
    ///
    /// The caller sends the answer first, and asks for the reversal afterwards. When the handler answers too
    /// late, the attempt already waits for a reversal and keeps waiting. `isSum` compares the charged amount
    /// with the amount of the attempt.
    package mutating func settle(
        _ id: String, _ outcome: Outcome, at now: Timestamp,
        isSum: (_ charged: String, _ asked: String) -> Bool = { $0 == $1 }
    ) -> Settlement {
        guard let index = attempts.firstIndex(where: { $0.id == id }) else {
            return Settlement(answer: Self.failure, needsReversal: false)
        }
        if case .charged(_, let reference, _) = outcome {
            attempts[index].reference = Self.bounded(reference)
        }
        switch (attempts[index].state, outcome) {
        case (.begun, .charged(let amount, _, let answer)) where isSum(amount, attempts[index].amount):
            change(index, to: .succeeded, answer, at: now)
            return Settlement(answer: answer, needsReversal: false)
        case (.begun, .declined(let answer)):
            change(index, to: .failed, answer, at: now)
            return Settlement(answer: answer, needsReversal: false)
        case (.begun, .charged), (.begun, .unknown):
            change(index, to: .reversing, Self.failure, at: now)
            return Settlement(answer: Self.failure, needsReversal: true)
        case (.reversed, .charged), (.unreversed, .charged), (.dropped, .charged):
            // The handler charged after an earlier reversal had ended without finding this charge.
            change(index, to: .reversing, Self.failure, at: now)
            return Settlement(answer: Self.failure, needsReversal: true)
        case (.reversing, _):
            return Settlement(answer: Self.failure, needsReversal: true)
        case (.succeeded, _), (.failed, _), (.reversed, _), (.unreversed, _), (.dropped, _):
            return Settlement(answer: attempts[index].answer ?? Self.failure, needsReversal: false)
        }
    }

    /// Records the result of one call that asked for a reversal.
    ///
    /// `isConfirmed` says whether the handler confirmed the reversal. An unconfirmed reversal is retried, or
    /// becomes a dead letter if `isLast`.
    package mutating func reverse(_ id: String, isConfirmed: Bool, isLast: Bool, at now: Timestamp) {
        guard let index = attempts.firstIndex(where: { $0.id == id }), attempts[index].state == .reversing
        else { return }
        if isConfirmed { return change(index, to: .reversed, attempts[index].answer, at: now) }
        attempts[index].failures = min(attempts[index].failures + 1, 1_000_000)
        if isLast { change(index, to: .unreversed, attempts[index].answer, at: now) }
    }

    /// Retries the reversal of an attempt that is a dead letter; returns false when the attempt is not a dead
    /// letter.
    package mutating func retryReversal(_ id: String, at now: Timestamp) -> Bool {
        guard let index = deadReversal(id) else { return false }
        attempts[index].failures = 0
        change(index, to: .reversing, attempts[index].answer, at: now)
        return true
    }

    /// Drops the reversal of an attempt that is a dead letter; returns false when the attempt is not a dead
    /// letter.
    package mutating func dropReversal(_ id: String, at now: Timestamp) -> Bool {
        guard let index = deadReversal(id) else { return false }
        change(index, to: .dropped, attempts[index].answer, at: now)
        return true
    }

    private func deadReversal(_ id: String) -> Int? {
        attempts.firstIndex { $0.id == id && $0.state == .unreversed }
    }

    /// Records whether a success reached the device; a success that never reached it is reversed.
    package mutating func tell(_ id: String, isDelivered: Bool, at now: Timestamp) {
        guard let index = attempts.firstIndex(where: { $0.id == id }), attempts[index].state == .succeeded
        else { return }
        if isDelivered {
            attempts[index].isTold = true
        } else if !attempts[index].isTold {
            change(index, to: .reversing, Self.failure, at: now)
        }
    }

    /// Ends the request because Apple's event arrived, which says whether the device shows the request as
    /// paid.
    package mutating func finish(byEventOfPaid isPaid: Bool, at now: Timestamp) {
        finish(.event)
        if let paid { tell(paid.id, isDelivered: isPaid, at: now) }
    }

    /// Reverses the success of an ended request if it is unknown whether the device got the answer.
    ///
    /// Returns whether anything changed. A crash between the charge and the answer leaves such a success. It
    /// is kept until the request ends, because the device may repeat its call or Apple's event may arrive.
    package mutating func reverseUntold(at now: Timestamp) -> Bool {
        guard hasEnded(at: now), let paid, !paid.isTold else { return false }
        tell(paid.id, isDelivered: false, at: now)
        return true
    }

    /// Marks every interrupted attempt for reversal; returns whether there was one.
    ///
    /// An attempt is interrupted when it has begun and no handler call for it is running, for example after a
    /// crash. `running` contains the identifiers of the attempts whose handler call is still running.
    package mutating func recover(at now: Timestamp, except running: Set<String> = []) -> Bool {
        let unfinished = attempts.indices.filter {
            attempts[$0].state == .begun && !running.contains(attempts[$0].id)
        }
        for index in unfinished { change(index, to: .reversing, Self.failure, at: now) }
        return !unfinished.isEmpty
    }

    /// Whether the sheet may still change: the request has not ended, and every attempt failed or was
    /// reversed.
    package func acceptsUpdates(at now: Timestamp) -> Bool {
        !hasEnded(at: now) && attempts.allSatisfy { $0.state == .failed || $0.state == .reversed }
    }

    /// Replaces the current sheet by the sheet of an update's answer.
    ///
    /// Returns false, without a change, when the sheet must no longer change and the answer must not be sent.
    package mutating func update(
        total: String, shippingMethod: String?, sheet: [UInt8], at now: Timestamp
    ) -> Bool {
        guard acceptsUpdates(at: now) else { return false }
        self.total = total
        self.shippingMethod = shippingMethod
        self.sheet = sheet
        return true
    }

    /// Ends the request for `reason`; a running attempt continues.
    ///
    /// A request that has already ended keeps its first reason.
    package mutating func finish(_ reason: End) { end = end ?? reason }

    private mutating func change(
        _ index: Int, to state: PaymentAttempt.State, _ answer: [UInt8]?, at now: Timestamp
    ) {
        attempts[index].state = state
        attempts[index].answer = answer
        attempts[index].changedAt = now
    }

    /// The start of a text without control characters, which could break a line of a terminal or a log.
    private static func bounded(_ text: String) -> String {
        var (result, count) = ("", 0)
        for scalar in text.unicodeScalars where scalar.value >= 0x20 && scalar.value != 0x7F {
            count += UTF8.width(scalar)
            guard count <= maximumReferenceBytes else { break }
            result.unicodeScalars.append(scalar)
        }
        return result
    }
}
