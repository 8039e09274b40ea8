package import BalloonPOSIX

/// The decisions about one payment request: the sum in force, the attempts, and the end.
///
/// The mutating functions decide. Their caller makes the changed value durable before it acts on the decision, and reads
/// no clock here: all times come from the caller.
package struct Payment: Hashable, Sendable {
    /// The maximum number of attempts of a request.
    package static let maximumAttempts = 5
    /// The time from the end of the merchant session to that of the request.
    package static let graceAfterSession = Duration.seconds(300)
    /// The maximum bytes of a reference that a handler reports; a longer one is cut.
    package static let maximumReferenceBytes = 256

    /// The reason why a request accepts no further payment.
    package enum End: String, Sendable {
        /// Apple's event with the result arrived.
        case event
        /// The handler or a person withdrew the request.
        case withdrawn
    }

    /// The answer to a gateway call.
    package enum GatewayDecision: Hashable, Sendable {
        /// Call the handler for this new attempt, after the payment is durable.
        case call(PaymentAttempt)
        /// The handler is being called for this attempt: wait for its answer.
        case join(attempt: String)
        /// The attempt has ended: send this answer again.
        case repeated(answer: [UInt8])
        /// Answer `STATUS_FAILURE` without a call.
        case refused(Refusal)
    }

    /// The reason why a gateway call gets `STATUS_FAILURE` without a call of the handler.
    package enum Refusal: String, Sendable, CaseIterable {
        /// The request has ended.
        case ended
        /// Another token of this request is being charged.
        case otherAttempt
        /// The request is paid.
        case paid
        /// A charge of this request may have to be reversed.
        case reversal
        /// The request had five attempts.
        case tooManyAttempts
        /// The sum in force was made for another shipping method.
        case shippingMethod
        /// The decrypted token is for another sum than the one in force.
        case tokenAmount
    }

    /// The outcome of a handler's call.
    package enum Outcome: Hashable, Sendable {
        /// The handler charged this sum.
        case charged(amount: String, reference: String, answer: [UInt8])
        /// The handler declined.
        case declined(answer: [UInt8])
        /// There was no usable answer in time: the charge may exist.
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
    /// The sum in force, as decimal text.
    package private(set) var total: String
    /// The shipping method that the sum was made for; nil when the request has none.
    package private(set) var shippingMethod: String?
    /// The sheet in force, a JSON object like Apple's `paymentRequest`.
    package private(set) var sheet: [UInt8]
    /// The time after which no payment is accepted; nil before the message is sent.
    package private(set) var endsAt: Timestamp?
    /// The reason of an earlier end.
    package private(set) var end: End?
    /// The attempts, oldest first; at most ``maximumAttempts``.
    package private(set) var attempts: [PaymentAttempt] = []

    /// The answer after which the customer can try again.
    package static let failure = Array(#"{"status":"STATUS_FAILURE"}"#.utf8)

    /// Starts with the sheet of a request.
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

    /// Whether a charge may have to be reversed: it runs, failed in an unknown way, the device may not know of it, or an
    /// operator has to decide about it.
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

    /// The attempts that wait for a reversal.
    package var reversals: [PaymentAttempt] { attempts.filter { $0.state == .reversing } }

    /// Whether the request accepts no payment any more.
    package func hasEnded(at now: Timestamp) -> Bool { end != nil || endsAt.map { now >= $0 } ?? false }

    /// Sets the end of a message that is sent with a session of this expiry.
    package mutating func send(sessionExpiresAt: Timestamp) {
        endsAt = sessionExpiresAt.advanced(by: Self.graceAfterSession)
    }

    /// Decides about a gateway call whose token has this attempt's identifier.
    ///
    /// `isSum` compares the sum in force with that of a decrypted token, whose transaction has the hash `transaction`.
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
            // An operator who drops a dead letter may have kept the charge.
            case .reversing, .unreversed, .dropped: return .refused(.reversal)
            case .failed, .reversed: continue
            }
        }
        if attempts.count >= Self.maximumAttempts { return .refused(.tooManyAttempts) }
        // A device that sends no method chose none.
        guard shippingMethod == self.shippingMethod else { return .refused(.shippingMethod) }
        guard isSum(total) else { return .refused(.tokenAmount) }
        let attempt = PaymentAttempt(id: id, amount: total, transaction: transaction, begunAt: now)
        attempts.append(attempt)
        return .call(attempt)
    }

    /// Records the outcome of a call; the device gets the answer, and then a reversal follows if one is needed.
    ///
    /// An attempt whose time was over before stays one that must be reversed. `isSum` compares
    /// the charged sum with that of the attempt.
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
            // The charge came after the reversal that found nothing.
            change(index, to: .reversing, Self.failure, at: now)
            return Settlement(answer: Self.failure, needsReversal: true)
        case (.reversing, _):
            return Settlement(answer: Self.failure, needsReversal: true)
        case (.succeeded, _), (.failed, _), (.reversed, _), (.unreversed, _), (.dropped, _):
            return Settlement(answer: attempts[index].answer ?? Self.failure, needsReversal: false)
        }
    }

    /// Records the end of a reversal: `isConfirmed` by the handler, or failed; a failed one stays open unless `isLast`.
    package mutating func reverse(_ id: String, isConfirmed: Bool, isLast: Bool, at now: Timestamp) {
        guard let index = attempts.firstIndex(where: { $0.id == id }), attempts[index].state == .reversing
        else { return }
        if isConfirmed { return change(index, to: .reversed, attempts[index].answer, at: now) }
        attempts[index].failures = min(attempts[index].failures + 1, 1_000_000)
        if isLast { change(index, to: .unreversed, attempts[index].answer, at: now) }
    }

    /// Begins a reversal that is a dead letter once more; false when the attempt is none.
    package mutating func retryReversal(_ id: String, at now: Timestamp) -> Bool {
        guard let index = deadReversal(id) else { return false }
        attempts[index].failures = 0
        change(index, to: .reversing, attempts[index].answer, at: now)
        return true
    }

    /// Drops a reversal that is a dead letter; false when the attempt is none.
    package mutating func dropReversal(_ id: String, at now: Timestamp) -> Bool {
        guard let index = deadReversal(id) else { return false }
        change(index, to: .dropped, attempts[index].answer, at: now)
        return true
    }

    private func deadReversal(_ id: String) -> Int? {
        attempts.firstIndex { $0.id == id && $0.state == .unreversed }
    }

    /// Records whether the device was told of a success; a success that nobody was told of is reversed.
    package mutating func tell(_ id: String, isDelivered: Bool, at now: Timestamp) {
        guard let index = attempts.firstIndex(where: { $0.id == id }), attempts[index].state == .succeeded
        else { return }
        if isDelivered {
            attempts[index].isTold = true
        } else if !attempts[index].isTold {
            change(index, to: .reversing, Self.failure, at: now)
        }
    }

    /// Ends the request by Apple's event, which says whether the device shows it as paid.
    package mutating func finish(byEventOfPaid isPaid: Bool, at now: Timestamp) {
        finish(.event)
        if let paid { tell(paid.id, isDelivered: isPaid, at: now) }
    }

    /// Reverses a success of a request that has ended although nobody knows whether the device was told; whether anything
    /// changed.
    ///
    /// Such a success remains after a crash between the charge and the answer. Until the end, the device may ask again or
    /// Apple's event may come.
    package mutating func reverseUntold(at now: Timestamp) -> Bool {
        guard hasEnded(at: now), let paid, !paid.isTold else { return false }
        tell(paid.id, isDelivered: false, at: now)
        return true
    }

    /// Turns attempts that no call of a handler belongs to any more, as after a crash, into reversals; whether anything
    /// changed.
    ///
    /// `running` are the attempts whose handler's call has not ended.
    package mutating func recover(at now: Timestamp, except running: Set<String> = []) -> Bool {
        let unfinished = attempts.indices.filter {
            attempts[$0].state == .begun && !running.contains(attempts[$0].id)
        }
        for index in unfinished { change(index, to: .reversing, Self.failure, at: now) }
        return !unfinished.isEmpty
    }

    /// Whether an update of the sheet may be answered: not after the end, and not while or after a charge.
    package func acceptsUpdates(at now: Timestamp) -> Bool {
        !hasEnded(at: now) && attempts.allSatisfy { $0.state == .failed || $0.state == .reversed }
    }

    /// Puts the sheet of an update's answer in force; false when the answer must not be sent any more.
    package mutating func update(
        total: String, shippingMethod: String?, sheet: [UInt8], at now: Timestamp
    ) -> Bool {
        guard acceptsUpdates(at: now) else { return false }
        self.total = total
        self.shippingMethod = shippingMethod
        self.sheet = sheet
        return true
    }

    /// Ends the request without Apple's event; a running attempt continues.
    ///
    /// A repeated end changes nothing.
    package mutating func finish(_ reason: End) { end = end ?? reason }

    private mutating func change(
        _ index: Int, to state: PaymentAttempt.State, _ answer: [UInt8]?, at now: Timestamp
    ) {
        attempts[index].state = state
        attempts[index].answer = answer
        attempts[index].changedAt = now
    }

    /// The start of a text, without control characters, which would end a line of a terminal or a log.
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
