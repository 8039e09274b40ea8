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
        /// The device may show one of several totals, because the delivery of an update's answer is unknown.
        case pendingUpdate
        /// The decrypted token is for another amount than the current total.
        case tokenAmount
    }

    /// The end of the handler's call for an attempt, or the end of the device's time.
    package enum Outcome: Hashable, Sendable {
        /// The handler charged this sum.
        case charged(amount: String, reference: String, answer: [UInt8])
        /// The handler declined.
        case declined(answer: [UInt8])
        /// The handler's answer breaks the rules; the reference is nil when it cannot be read.
        case misanswered(reference: String?)
        /// The handler was provably not called.
        case notCalled
        /// The device's time is over, and the call continues.
        case late
        /// The call ended without an answer, and its end was seen.
        case ended
        /// The call ended without an answer, and the handler may still work on it.
        case lost
    }

    /// An operator's decision about a reversal that is a dead letter.
    package enum ReversalAction: Sendable {
        /// The handler is asked again, until the lifetime of replies is over.
        case retry
        /// The handler is not asked any more.
        case drop
    }

    /// The consequence of a handler's outcome.
    package struct Settlement: Hashable, Sendable {
        /// The answer to the device.
        package let answer: [UInt8]
        /// Whether the handler is asked to reverse the attempt.
        package let needsReversal: Bool
    }

    /// A payment sheet that a device may show.
    package struct Shown: Hashable, Sendable {
        /// The total as decimal text.
        package let total: String
        /// The shipping method for which the total was calculated; nil when the request has none.
        package let shippingMethod: String?
        /// A JSON object like Apple's `paymentRequest`.
        package let sheet: [UInt8]

        /// Creates a sheet.
        package init(total: String, shippingMethod: String?, sheet: [UInt8]) {
            self.total = total
            self.shippingMethod = shippingMethod
            self.sheet = sheet
        }

        /// The total without zeros at the end of its decimals, so that equal sums are equal texts.
        fileprivate var sum: Substring {
            guard total.contains(".") else { return total[...] }
            var sum = total[...]
            while sum.last == "0" { sum.removeLast() }
            if sum.last == "." { sum.removeLast() }
            return sum
        }
    }

    /// The maximum number of updates whose delivery is unknown.
    package static let maximumPendingUpdates = 3

    /// The currency, three letters of ISO 4217.
    package let currency: String
    /// The sheet that the device shows, unless it has got a ``pending`` one.
    package private(set) var shown: Shown
    /// The sheets of updates whose answers the device may have got, oldest first.
    ///
    /// An update adds its sheet before its answer is sent, and the delivery removes it. More remain only after
    /// a crash between the two, and when the delivery is unknown.
    package private(set) var pending: [Shown] = []
    /// The time after which no payment is accepted; nil before the message is sent.
    package private(set) var endsAt: Timestamp?
    /// The reason why the request ended before `endsAt`; nil when it did not.
    package private(set) var end: End?
    /// The attempts, oldest first; at most ``maximumAttempts``.
    package private(set) var attempts: [PaymentAttempt] = []

    /// Creates a payment without attempts, with the sheet of the payment request.
    package init(currency: String, total: String, shippingMethod: String?, sheet: [UInt8]) {
        self.init(
            currency: currency, Shown(total: total, shippingMethod: shippingMethod, sheet: sheet),
            pending: [],
            endsAt: nil, end: nil, attempts: [])
    }

    init(
        currency: String, _ shown: Shown, pending: [Shown], endsAt: Timestamp?, end: End?,
        attempts: [PaymentAttempt]
    ) {
        self.currency = currency
        self.shown = shown
        self.pending = pending
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
            case .begun, .uncertain, .reversing, .unreversed: true
            case .succeeded: !attempt.isTold
            case .failed, .reversed, .dropped: false
            }
        }
    }

    /// The newest sheet that the device may show: the base of the next update.
    package var newest: Shown { pending.last ?? shown }

    /// The attempt with this key.
    package func attempt(_ id: String) -> PaymentAttempt? { attempts.first { $0.id == id } }

    /// The attempt that paid the request.
    package var paid: PaymentAttempt? { attempts.first { $0.state == .succeeded } }

    /// The attempts that the handler is asked to reverse.
    package var reversals: [PaymentAttempt] {
        attempts.filter { $0.state == .uncertain || $0.state == .reversing }
    }

    /// Whether the request no longer accepts a payment.
    package func hasEnded(at now: Timestamp) -> Bool { end != nil || endsAt.map { now >= $0 } ?? false }

    /// Sets ``endsAt`` when the message is sent, from the expiry of the message's merchant session.
    package mutating func send(sessionExpiresAt: Timestamp) {
        endsAt = sessionExpiresAt.advanced(by: Self.graceAfterSession)
    }

    /// Decides how to answer a gateway call whose token has the identifier `id`.
    ///
    /// `isSum` compares a total with the amount in the decrypted token. `transaction` is the hash of the
    /// transaction in that token. When the device may show one of several sheets, the token's amount and the
    /// call's shipping method must leave only one sum.
    package mutating func begin(
        attempt id: String, transaction: String? = nil, shippingMethod: String?, at now: Timestamp,
        isSum: (_ total: String) -> Bool = { _ in true }
    ) -> GatewayDecision {
        if let known = self.attempt(id) {
            if known.state == .begun { return .join(attempt: id) }
            return .repeated(answer: known.answer ?? PaymentFailure.uncertain.answer)
        }
        if hasEnded(at: now) { return .refused(.ended) }
        for attempt in attempts where !attempt.state.admitsAnother {
            switch attempt.state {
            case .begun: return .refused(.otherAttempt)
            case .succeeded: return .refused(.paid)
            // An operator who dropped the dead letter may have kept the charge.
            case .uncertain, .reversing, .unreversed, .dropped, .failed, .reversed:
                return .refused(.reversal)
            }
        }
        if attempts.count >= Self.maximumAttempts { return .refused(.tooManyAttempts) }
        // A call without a method means that the customer chose none.
        let chosen = ([shown] + pending).filter { $0.shippingMethod == shippingMethod }
        guard !chosen.isEmpty else { return .refused(.shippingMethod) }
        let authorised = chosen.filter { isSum($0.total) }
        guard let sheet = authorised.last else { return .refused(.tokenAmount) }
        guard authorised.allSatisfy({ $0.sum == sheet.sum }) else { return .refused(.pendingUpdate) }
        (shown, pending) = (sheet, [])
        let attempt = PaymentAttempt(id: id, amount: sheet.total, transaction: transaction, begunAt: now)
        attempts.append(attempt)
        return .call(attempt)
    }

    /// Records the end of the handler's call, or that the device's time is over; returns the answer to the
    /// device.
    ///
    /// The caller sends the answer first, and asks for the reversal afterwards. `isSum` compares the charged
    /// amount with the amount of the attempt.
    package mutating func settle(
        _ id: String, _ outcome: Outcome, at now: Timestamp,
        isSum: (_ charged: String, _ asked: String) -> Bool = { $0 == $1 }
    ) -> Settlement {
        let uncertain = PaymentFailure.uncertain.answer
        guard let index = attempts.firstIndex(where: { $0.id == id }) else {
            return Settlement(answer: uncertain, needsReversal: false)
        }
        let event: PaymentAttempt.Event
        var answer = uncertain
        switch outcome {
        case .charged(let amount, let reference, let success):
            attempts[index].reference = Self.bounded(reference)
            event = isSum(amount, attempts[index].amount) ? .charged : .misanswered
            if attempts[index].state.after(event) == .succeeded { answer = success }
        case .declined(let decline): (event, answer) = (.declined, decline)
        case .misanswered(let reference):
            attempts[index].reference = reference.map(Self.bounded) ?? attempts[index].reference
            event = .misanswered
        case .notCalled: (event, answer) = (.notCalled, PaymentFailure.notCharged.answer)
        case .late: event = .late
        case .ended: event = .ended
        case .lost: event = .lost
        }
        _ = attempts[index].apply(event, answer: answer, at: now)
        let state = attempts[index].state
        return Settlement(
            answer: attempts[index].answer ?? uncertain,
            needsReversal: state == .uncertain || state == .reversing)
    }

    /// Records the result of one call that asked for a reversal, which was begun in `turn` of the attempt.
    ///
    /// `isConfirmed` says whether the handler confirmed the reversal. An unconfirmed reversal is retried, or
    /// becomes a dead letter if `isLast`. A reversal of an earlier turn decides nothing.
    package mutating func reverse(
        _ id: String, begunIn turn: Int, isConfirmed: Bool, isLast: Bool, at now: Timestamp
    ) {
        guard let index = attempts.firstIndex(where: { $0.id == id }), attempts[index].turn == turn,
            attempts[index].state == .reversing
        else { return }
        if isConfirmed {
            _ = attempts[index].apply(.confirmed, at: now)
            return
        }
        attempts[index].failures = min(attempts[index].failures + 1, 1_000_000)
        if isLast { _ = attempts[index].apply(.expired, at: now) }
    }

    /// Retries or drops the reversal of an attempt that is a dead letter; returns false when the attempt is not a
    /// dead letter.
    package mutating func decideReversal(
        _ id: String, _ action: ReversalAction, at now: Timestamp
    ) -> Bool {
        guard let index = attempts.firstIndex(where: { $0.id == id }) else { return false }
        return attempts[index].apply(action == .retry ? .retried : .dropped, at: now)
    }

    /// Records whether a success reached the device; a success that never reached it is reversed.
    package mutating func tell(_ id: String, isDelivered: Bool, at now: Timestamp) {
        guard let index = attempts.firstIndex(where: { $0.id == id }), attempts[index].state == .succeeded
        else { return }
        if isDelivered {
            attempts[index].isTold = true
        } else if !attempts[index].isTold {
            _ = attempts[index].apply(.untold, answer: PaymentFailure.uncertain.answer, at: now)
        }
    }

    /// Ends the request because Apple's event arrived, which says whether the device shows the request as
    /// paid.
    package mutating func finish(byEventOfPaid isPaid: Bool, at now: Timestamp) {
        finish(.event)
        if let paid { tell(paid.id, isDelivered: isPaid, at: now) }
    }

    /// Applies the time that has passed since the latest change; returns the attempts that have changed.
    ///
    /// `open` has the attempts whose call, or the delivery of whose answer, this process still waits for. An
    /// attempt that has begun and is not among them was interrupted. `start` is the start of the server, and
    /// `lifetime` the time for reversals. A success of which the device was not told, or not certainly, is
    /// reversed when the request has ended: until then the device may repeat its call, or Apple's event arrive.
    /// It is not reversed soon after a start either, because the event may wait in the journal, or Apple repeat it.
    package mutating func advance(
        at now: Timestamp, since start: Timestamp, open: Set<String>, lifetime: Duration,
        _ timings: PaymentTimings
    ) -> [PaymentAttempt] {
        var changed: [PaymentAttempt] = []
        for index in attempts.indices where !attempts[index].state.admitsAnother {
            attempts[index].restartWaits(at: now)
            let attempt = attempts[index]
            let isOpen = open.contains(attempt.id)
            let event: PaymentAttempt.Event
            switch attempt.state {
            case .begun where !isOpen: event = .restarted
            case .uncertain where now >= attempt.changedAt.advanced(by: lifetime): event = .expired
            case .uncertain where !isOpen && now >= attempt.reversibleAt(timings, since: start): event = .due
            case .succeeded
            where hasEnded(at: now) && !attempt.isTold && !isOpen && now >= start.advanced(by: timings.pause):
                event = .untold
            case .begun, .uncertain, .succeeded, .failed, .reversing, .reversed, .unreversed, .dropped:
                continue
            }
            _ = attempts[index].apply(event, answer: PaymentFailure.uncertain.answer, at: now)
            changed.append(attempts[index])
        }
        return changed
    }

    /// The next time at which ``advance(at:since:open:lifetime:_:)`` changes an uncertain attempt; nil when
    /// there is none.
    package func nextAdvance(
        since start: Timestamp, open: Set<String>, lifetime: Duration, _ timings: PaymentTimings
    ) -> Timestamp? {
        attempts.filter { $0.state == .uncertain }.map { attempt in
            let end = attempt.changedAt.advanced(by: lifetime)
            return open.contains(attempt.id) ? end : min(end, attempt.reversibleAt(timings, since: start))
        }.min()
    }

    /// Whether the sheet may still change: the request has not ended, and every attempt failed or was
    /// reversed.
    package func acceptsUpdates(at now: Timestamp) -> Bool {
        !hasEnded(at: now) && attempts.allSatisfy(\.state.admitsAnother)
    }

    /// Adds the sheet of an update's answer, before the answer is sent.
    ///
    /// Returns false, without a change, when the sheet must no longer change and the answer must not be sent.
    package mutating func propose(_ next: Shown, at now: Timestamp) -> Bool {
        guard acceptsUpdates(at: now), pending.count < Self.maximumPendingUpdates else { return false }
        pending.append(next)
        return true
    }

    /// Records whether the device got the answer with a proposed sheet, and now shows it.
    package mutating func resolve(_ proposed: Shown, isSent: Bool) {
        guard let index = pending.lastIndex(of: proposed) else { return }
        if isSent {
            (shown, pending) = (proposed, [])
        } else {
            pending.remove(at: index)
        }
    }

    /// Ends the request for `reason`; a running attempt continues.
    ///
    /// A request that has already ended keeps its first reason.
    package mutating func finish(_ reason: End) { end = end ?? reason }

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
