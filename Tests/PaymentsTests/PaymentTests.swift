import BalloonJSON
import BalloonPOSIX
import Payments
import Testing

@Suite struct PaymentTests {
    private static let now = Timestamp(milliseconds: 1_000_000)
    private static let success = Array(#"{"status":"STATUS_SUCCESS"}"#.utf8)
    private static let declined = Array(#"{"status":"STATUS_FAILURE","errors":[]}"#.utf8)

    private func payment(shippingMethod: String? = nil) -> Payment {
        var payment = Payment(
            currency: "EUR", total: "59.00", shippingMethod: shippingMethod, sheet: Array("{}".utf8))
        payment.send(sessionExpiresAt: Self.now.advanced(by: .seconds(300)))
        return payment
    }

    private func begin(_ payment: inout Payment, _ id: String = "a", at now: Timestamp = now)
        -> Payment.GatewayDecision
    { payment.begin(attempt: id, shippingMethod: payment.shown.shippingMethod, at: now) }

    /// Applies the passing of time to attempts without an open call, in a server that started long ago.
    private func advance(
        _ payment: inout Payment, at now: Timestamp = now, since start: Timestamp? = nil,
        open: Set<String> = [], lifetime: Duration = .seconds(72 * 3600)
    ) -> [PaymentAttempt.State] {
        payment.advance(
            at: now, since: start ?? Self.now.advanced(by: .seconds(-3600)), open: open, lifetime: lifetime,
            PaymentTimings()
        ).map(\.state)
    }

    /// Ends the attempt `a` without a seen end, and lets its time pass.
    private func makeReversing(_ payment: inout Payment) {
        _ = payment.settle("a", .lost, at: Self.now)
        _ = advance(&payment, at: Self.now.advanced(by: .seconds(600)))
    }

    private func reverse(
        _ payment: inout Payment, _ id: String = "a", isConfirmed: Bool, isLast: Bool = false
    ) {
        let turn = payment.attempts.first { $0.id == id }?.turn ?? 0
        payment.reverse(id, begunIn: turn, isConfirmed: isConfirmed, isLast: isLast, at: Self.now)
    }

    private func charged(_ amount: String = "59.00") -> Payment.Outcome {
        .charged(amount: amount, reference: "ch_1", answer: Self.success)
    }

    @Test func `a new token is called once, joined while it runs, and repeated after its end`() {
        var payment = payment()
        guard case .call(let attempt) = begin(&payment) else {
            Issue.record("not called")
            return
        }
        #expect(attempt.amount == "59.00" && attempt.state == .begun && payment.isBusy)
        #expect(begin(&payment) == .join(attempt: "a"))
        let settlement = payment.settle("a", charged(), at: Self.now)
        #expect(settlement.answer == Self.success && !settlement.needsReversal)
        #expect(payment.paid?.reference == "ch_1" && payment.isBusy)
        payment.tell("a", isDelivered: true, at: Self.now)
        #expect(!payment.isBusy)
        #expect(begin(&payment) == .repeated(answer: Self.success))
        // Also after the end: the device must not read that a paid attempt failed.
        payment.finish(.event)
        #expect(begin(&payment) == .repeated(answer: Self.success))
    }

    @Test func `a declined attempt keeps its answer and lets another token try`() {
        var payment = payment()
        _ = begin(&payment)
        let settlement = payment.settle("a", .declined(answer: Self.declined), at: Self.now)
        #expect(settlement.answer == Self.declined && !settlement.needsReversal)
        #expect(begin(&payment) == .repeated(answer: Self.declined))
        guard case .call = begin(&payment, "b") else {
            Issue.record("the second token was refused")
            return
        }
    }

    @Test func `another token is refused meanwhile, after a success, and while a reversal is open`() {
        var running = payment()
        _ = begin(&running)
        #expect(begin(&running, "b") == .refused(.otherAttempt))
        var paid = running
        _ = paid.settle("a", charged(), at: Self.now)
        #expect(begin(&paid, "b") == .refused(.paid))
        var reversing = running
        let result1 = reversing.settle("a", .late, at: Self.now).needsReversal
        #expect(result1)
        #expect(begin(&reversing, "b") == .refused(.reversal))
        // The confirmation of a reversal decides nothing while the call may still charge.
        reverse(&reversing, isConfirmed: true)
        #expect(begin(&reversing, "b") == .refused(.reversal))
        makeReversing(&reversing)
        #expect(begin(&reversing, "b") == .refused(.reversal))
        var reversed = reversing
        reverse(&reversed, isConfirmed: true)
        #expect(!reversed.isBusy)
        guard case .call = begin(&reversed, "b") else {
            Issue.record("refused after the reversal")
            return
        }
        reverse(&reversing, isConfirmed: false, isLast: true)
        #expect(reversing.attempts.first?.state == .unreversed)
        #expect(begin(&reversing, "b") == .refused(.reversal))
    }

    @Test func `a request has at most five attempts`() {
        var payment = payment()
        for number in 0..<Payment.maximumAttempts {
            guard case .call = begin(&payment, "\(number)") else {
                Issue.record("attempt \(number) was refused")
                return
            }
            _ = payment.settle("\(number)", .declined(answer: Self.declined), at: Self.now)
        }
        #expect(begin(&payment, "x") == .refused(.tooManyAttempts))
        #expect(begin(&payment, "4") == .repeated(answer: Self.declined))
        #expect(payment.attempts.count == 5)
    }

    @Test(arguments: [
        ("std", "std", true), ("std", "fast", false), ("std", nil, false), (nil, "std", false),
        (nil, nil, true),
    ])
    func `the shipping method must be the one that the sum was made for`(
        _ inForce: String?, _ sent: String?, _ isCalled: Bool
    ) {
        var payment = payment(shippingMethod: inForce)
        let decision = payment.begin(attempt: "a", shippingMethod: sent, at: Self.now)
        #expect((decision == .refused(.shippingMethod)) == !isCalled)
        #expect(payment.attempts.count == (isCalled ? 1 : 0))
    }

    @Test(arguments: ["58.99", "59.01", "59", "", "NaN"])
    func `a charge of another sum is a failure that is reversed`(_ amount: String) {
        var payment = payment()
        _ = begin(&payment)
        let settlement = payment.settle("a", charged(amount), at: Self.now)
        #expect(settlement.answer == PaymentFailure.uncertain.answer && settlement.needsReversal)
        #expect(payment.attempts.first?.state == .reversing && payment.paid == nil)
    }

    @Test func `a success after the time limit leaves one reversal`() {
        var payment = payment()
        _ = begin(&payment)
        let result2 = payment.settle("a", .late, at: Self.now).needsReversal
        #expect(result2)
        let late = payment.settle("a", charged(), at: Self.now)
        #expect(late.answer == PaymentFailure.uncertain.answer)
        #expect(payment.attempts.map(\.state) == [.reversing])
        #expect(payment.reversals.first?.reference == "ch_1")
        #expect(begin(&payment) == .repeated(answer: PaymentFailure.uncertain.answer))
    }

    @Test func `a success after a reversal that found nothing is reversed too`() {
        var payment = payment()
        _ = begin(&payment)
        makeReversing(&payment)
        let turn = payment.attempts[0].turn
        reverse(&payment, isConfirmed: true)
        let result3 = payment.settle("a", charged(), at: Self.now).needsReversal
        #expect(result3)
        #expect(payment.reversals.count == 1)
        // A reversal that was begun before the answer may have found no charge.
        payment.reverse("a", begunIn: turn, isConfirmed: true, isLast: false, at: Self.now)
        #expect(payment.attempts[0].state == .reversing)
    }

    @Test func `a charge that is reported during a reversal needs another reversal`() {
        var payment = payment()
        _ = begin(&payment)
        makeReversing(&payment)
        let turn = payment.attempts[0].turn
        _ = payment.settle("a", charged(), at: Self.now)
        payment.reverse("a", begunIn: turn, isConfirmed: true, isLast: false, at: Self.now)
        #expect(payment.attempts[0].state == .reversing)
        reverse(&payment, isConfirmed: true)
        #expect(payment.attempts[0].state == .reversed)
    }

    @Test func `a success that the device was not told of is reversed`() {
        var paid = payment()
        _ = begin(&paid)
        _ = paid.settle("a", charged(), at: Self.now)
        var gone = paid
        gone.tell("a", isDelivered: false, at: Self.now)
        #expect(gone.reversals.map(\.id) == ["a"])
        // One of several posts of the attempt got the answer.
        var told = paid
        told.tell("a", isDelivered: true, at: Self.now)
        told.tell("a", isDelivered: false, at: Self.now)
        #expect(told.paid != nil && !told.isBusy)
    }

    @Test(arguments: [(true, false, true), (false, false, false), (true, true, true), (false, true, true)])
    func `after a crash, Apple's event or the end decides about a success that may be untold`(
        _ isPaid: Bool, _ isTold: Bool, _ remains: Bool
    ) {
        var payment = payment()
        _ = begin(&payment)
        _ = payment.settle("a", charged(), at: Self.now)
        if isTold { payment.tell("a", isDelivered: true, at: Self.now) }
        let end = Self.now.advanced(by: .seconds(600))
        var silent = payment
        #expect(advance(&silent).isEmpty)
        // The answer may be on its way.
        #expect(advance(&silent, at: end, open: ["a"]).isEmpty)
        // Soon after a start the event may still wait in the journal.
        #expect(advance(&silent, at: end, since: end.advanced(by: .seconds(-59))).isEmpty)
        #expect(advance(&silent, at: end) == (isTold ? [] : [.reversing]))
        #expect((silent.paid != nil) == isTold)
        payment.finish(byEventOfPaid: isPaid, at: Self.now)
        #expect((payment.paid != nil) == remains)
        #expect(payment.reversals.isEmpty == remains)
        #expect(advance(&payment, at: end).isEmpty)
    }

    @Test func `a failed reversal stays open until the last one`() {
        var payment = payment()
        _ = begin(&payment)
        makeReversing(&payment)
        reverse(&payment, isConfirmed: false)
        #expect(payment.reversals.first?.failures == 1 && payment.isBusy)
        reverse(&payment, "b", isConfirmed: true)
        #expect(payment.isBusy)
        reverse(&payment, isConfirmed: false, isLast: true)
        #expect(payment.attempts.first?.state == .unreversed && payment.isBusy && payment.reversals.isEmpty)
    }

    @Test func `an operator has a dead reversal tried again from the start, or drops it for good`() {
        var payment = payment()
        _ = begin(&payment)
        makeReversing(&payment)
        // A reversal that still runs is no dead letter.
        var running = payment
        let (isRetried, isDropped) = (
            running.decideReversal("a", .retry, at: Self.now),
            running.decideReversal("a", .drop, at: Self.now)
        )
        #expect(!isRetried && !isDropped && running == payment)
        reverse(&payment, isConfirmed: false, isLast: true)
        let later = Self.now.advanced(by: .seconds(5))
        var again = payment
        let isAgain = again.decideReversal("a", .retry, at: later)
        #expect(isAgain && again.reversals.first?.failures == 0)
        #expect(again.reversals.first?.changedAt == later)
        let isGone = payment.decideReversal("a", .drop, at: later)
        #expect(isGone && payment.attempts.first?.state == .dropped && !payment.isBusy)
        // The operator may have kept the charge.
        #expect(begin(&payment, "b") == .refused(.reversal))
        let isDroppedAgain = payment.decideReversal("a", .drop, at: later)
        #expect(!isDroppedAgain)
    }

    @Test func `a restart makes an unfinished attempt uncertain, and nothing else`() {
        var payment = payment()
        var untouched = payment
        #expect(advance(&untouched).isEmpty)
        #expect(untouched == payment)
        _ = begin(&payment)
        #expect(advance(&payment, open: ["a"]).isEmpty)
        #expect(advance(&payment) == [.uncertain])
        #expect(payment.reversals.map(\.id) == ["a"])
        #expect(advance(&payment).isEmpty)
        #expect(begin(&payment) == .repeated(answer: PaymentFailure.uncertain.answer))
    }

    @Test
    func `a request ends at the session's expiry plus five minutes, by its event, or when it is withdrawn`() {
        var late = payment()
        #expect(begin(&late, at: Self.now.advanced(by: .seconds(600))) == .refused(.ended))
        guard case .call = begin(&late, at: Self.now.advanced(by: .milliseconds(599_999))) else {
            Issue.record("refused before the end")
            return
        }
        for reason in [Payment.End.event, .withdrawn] {
            var payment = payment()
            payment.finish(reason)
            payment.finish(.event)
            #expect(payment.end == reason)
            #expect(begin(&payment) == .refused(.ended))
            #expect(!update(&payment, "1.00", nil))
        }
    }

    /// Proposes a sheet and delivers it; returns whether it may be sent.
    private func update(_ payment: inout Payment, _ total: String, _ method: String?, isSent: Bool? = true)
        -> Bool
    {
        let shown = Payment.Shown(total: total, shippingMethod: method, sheet: Array(#"{"a":1}"#.utf8))
        let isProposed = payment.propose(shown, at: Self.now)
        if isProposed, let isSent { payment.resolve(shown, isSent: isSent) }
        return isProposed
    }

    @Test func `an update changes the sum, but not while or after a charge`() {
        var payment = payment(shippingMethod: "std")
        #expect(update(&payment, "64.00", "fast"))
        guard case .call(let attempt) = begin(&payment) else {
            Issue.record("not called")
            return
        }
        #expect(attempt.amount == "64.00" && payment.shown.shippingMethod == "fast")
        #expect(payment.shown.sheet == Array(#"{"a":1}"#.utf8))
        #expect(!update(&payment, "1.00", "std"))
        _ = payment.settle("a", .declined(answer: Self.declined), at: Self.now)
        #expect(update(&payment, "65.00", "std"))
        _ = begin(&payment, "b")
        _ = payment.settle("b", charged("65.00"), at: Self.now)
        #expect(!update(&payment, "1.00", "std"))
        #expect(payment.shown.total == "65.00")
    }

    /// The sum that is charged after an update from 59.00 to another total.
    struct LostUpdate: Sendable {
        /// Whether the answer was sent; nil after a crash.
        var isSent: Bool?
        var total = "99.00"
        /// The shipping method of the update.
        var method = "std"
        /// The shipping method of the gateway call.
        var called = "std"
        /// The amount in the decrypted token; nil without decryption.
        var token: String?
        let charged: String?
    }

    @Test(arguments: [
        LostUpdate(isSent: true, charged: "99.00"), LostUpdate(isSent: false, charged: "59.00"),
        // After a crash nobody knows which total the device shows.
        LostUpdate(charged: nil), LostUpdate(total: "59.0", charged: "59.0"),
        LostUpdate(token: "59.00", charged: "59.00"), LostUpdate(token: "99.00", charged: "99.00"),
        LostUpdate(token: "58.00", charged: nil),
        LostUpdate(method: "fast", called: "fast", charged: "99.00"),
        LostUpdate(method: "fast", called: "std", charged: "59.00"),
        LostUpdate(method: "fast", called: "other", charged: nil),
        LostUpdate(method: "fast", called: "fast", token: "59.00", charged: nil),
    ])
    func `the sum after an update is the one that the device can only show`(lost: LostUpdate) throws {
        var payment = payment(shippingMethod: "std")
        #expect(update(&payment, lost.total, lost.method, isSent: lost.isSent))
        #expect(Payment(json: try JSONDocument(payment.json).root) == payment)
        let decision = payment.begin(attempt: "a", shippingMethod: lost.called, at: Self.now) { total in
            lost.token.map { $0 == total } ?? true
        }
        guard case .call(let attempt) = decision else {
            #expect(lost.charged == nil, "\(decision)")
            return
        }
        #expect(attempt.amount == lost.charged && payment.shown.total == lost.charged)
        #expect(payment.pending.isEmpty)
    }

    @Test func `updates whose delivery is unknown are bounded, and a delivered one settles them`() {
        var payment = payment()
        for number in 1...Payment.maximumPendingUpdates {
            #expect(update(&payment, "\(number).00", nil, isSent: nil))
        }
        #expect(!update(&payment, "9.00", nil))
        var settled = self.payment()
        #expect(update(&settled, "1.00", nil, isSent: nil))
        #expect(update(&settled, "2.00", nil, isSent: false))
        #expect(settled.pending.map(\.total) == ["1.00"])
        #expect(update(&settled, "3.00", nil))
        #expect(settled.pending.isEmpty && settled.shown.total == "3.00")
    }

    @Test func `a payment is read as it was written, and a damaged one is refused`() throws {
        var payment = payment(shippingMethod: "std")
        _ = begin(&payment)
        _ = payment.settle("a", .declined(answer: Self.declined), at: Self.now)
        _ = begin(&payment, "b")
        _ = payment.settle("b", .misanswered(reference: nil), at: Self.now)
        reverse(&payment, "b", isConfirmed: false)
        payment.finish(.withdrawn)
        #expect(Payment(json: try JSONDocument(payment.json).root) == payment)
        let text = String(decoding: payment.json, as: UTF8.self)
        for (old, new) in [
            ("reversing", "paid"), ("\"total\"", "\"sum\""), ("\"attempts\":[", "\"attempts\":[1,"),
            ("\"withdrawn\"", "\"left\""), ("\"withdrawn\"", "1"),
        ] {
            let damaged = text.replacing(old, with: new)
            #expect(damaged != text)
            #expect(Payment(json: try JSONDocument(Array(damaged.utf8)).root) == nil)
        }
    }

    @Test func `a reference is bounded and has no control characters`() {
        var payment = payment()
        _ = begin(&payment)
        let long = "a\n\u{1B}" + String(repeating: "é", count: 200)
        _ = payment.settle("a", .charged(amount: "59.00", reference: long, answer: []), at: Self.now)
        #expect(payment.paid?.reference == "a" + String(repeating: "é", count: 127))
    }

    @Test func `the identifier of an attempt separates its parts`() {
        let one = PaymentAttempt.id(requestIdentifier: "ab", encryptedData: [0x63])
        #expect(one.utf8.count == 64)
        #expect(one != PaymentAttempt.id(requestIdentifier: "abc", encryptedData: []))
        // The SHA-256 of "ab", a zero byte and "c", by sha256sum.
        #expect(one == "6c032e631d39a14d85aff7e319546af701e26c97b57ca95fbfe9c6ba855f67bf")
    }
}
