import BalloonJSON
import BalloonPOSIX
import Testing

@testable import Payments

/// The states of an attempt to pay: every transition, and the waits between them.
@Suite struct AttemptStateTests {
    private typealias State = PaymentAttempt.State
    private typealias Event = PaymentAttempt.Event

    private static let now = Timestamp(milliseconds: 1_800_000_000_000)

    /// The states after each event; an event that is not listed for a state leaves it.
    private static let transitions: [State: [Event: State]] = [
        .begun: [
            .charged: .succeeded, .declined: .failed, .misanswered: .reversing, .notCalled: .failed,
            .late: .uncertain, .ended: .uncertain, .lost: .uncertain, .restarted: .uncertain,
        ],
        .uncertain: [
            .charged: .reversing, .declined: .failed, .misanswered: .reversing, .notCalled: .failed,
            .due: .reversing, .expired: .unreversed,
        ],
        .reversing: [
            .declined: .failed, .notCalled: .failed, .confirmed: .reversed, .expired: .unreversed,
        ],
        .unreversed: [
            .charged: .reversing, .misanswered: .reversing, .declined: .failed, .notCalled: .failed,
            .retried: .reversing, .dropped: .dropped,
        ],
        .reversed: [.charged: .reversing, .misanswered: .reversing],
        .failed: [.charged: .reversing, .misanswered: .reversing],
        .dropped: [.charged: .reversing, .misanswered: .reversing],
        .succeeded: [.untold: .reversing],
    ]

    @Test(arguments: PaymentAttempt.State.allCases)
    func `each event leads to its state`(state: PaymentAttempt.State) throws {
        let row = try #require(Self.transitions[state])
        for event in Event.allCases {
            #expect(state.after(event) == row[event] ?? state, "\(state) after \(event)")
        }
    }

    @Test func `only a failed or reversed attempt lets another token pay`() {
        #expect(State.allCases.filter(\.admitsAnother) == [.failed, .reversed])
    }

    private func begun(at now: Timestamp = now) -> Payment {
        var payment = Payment(currency: "EUR", total: "59.00", shippingMethod: nil, sheet: Array("{}".utf8))
        payment.send(sessionExpiresAt: now.advanced(by: .seconds(300)))
        _ = payment.begin(attempt: "a", shippingMethod: nil, at: now)
        return payment
    }

    /// The end of a call, and the time after its beginning at which a reversal decides.
    private struct Wait: Sendable {
        let name: String
        let outcome: Payment.Outcome
        /// The time of the call's end in seconds.
        let ends: Int
        /// The start of the server in seconds after the call's beginning.
        var start = -3600
        let due: Int
    }

    @Test func `a reversal decides a minute after a seen end, and else ten minutes after the beginning`() {
        for wait in [
            Wait(name: "late and lost", outcome: .lost, ends: 40, due: 600),
            Wait(name: "interrupted at once", outcome: .lost, ends: 0, due: 600),
            Wait(name: "thrown", outcome: .ended, ends: 10, due: 70),
            Wait(name: "thrown after ten minutes", outcome: .ended, ends: 650, due: 710),
            Wait(name: "restarted soon", outcome: .lost, ends: 1, start: 30, due: 600),
            Wait(name: "restarted late", outcome: .lost, ends: 1, start: 580, due: 640),
            Wait(name: "thrown, then restarted", outcome: .ended, ends: 1, start: 100, due: 160),
        ] {
            var payment = begun()
            let start = Self.now.advanced(by: .seconds(wait.start))
            func advance(_ seconds: Double, open: Set<String> = []) -> [State] {
                payment.advance(
                    at: Self.now.advanced(by: .milliseconds(Int(seconds * 1000))), since: start, open: open,
                    lifetime: .seconds(72 * 3600), PaymentTimings()
                ).map(\.state)
            }
            _ = payment.settle("a", .late, at: Self.now)
            _ = payment.settle("a", wait.outcome, at: Self.now.advanced(by: .seconds(wait.ends)))
            #expect(
                payment.nextAdvance(
                    since: start, open: [], lifetime: .seconds(72 * 3600), PaymentTimings())
                    == Self.now.advanced(by: .seconds(wait.due)), "\(wait.name)")
            #expect(advance(Double(wait.due) - 0.1).isEmpty, "\(wait.name)")
            #expect(advance(Double(wait.due), open: ["a"]).isEmpty, "\(wait.name)")
            #expect(advance(Double(wait.due)) == [.reversing], "\(wait.name)")
        }
    }

    @Test func `an uncertain attempt whose call never ends becomes a dead letter, and a late answer counts`()
    {
        var payment = begun()
        _ = payment.settle("a", .late, at: Self.now)
        let end = Self.now.advanced(by: .seconds(72 * 3600))
        let changed = payment.advance(
            at: end, since: Self.now, open: ["a"], lifetime: .seconds(72 * 3600), PaymentTimings())
        #expect(changed.map(\.state) == [.unreversed])
        var declined = payment
        _ = declined.settle("a", .declined(answer: []), at: end)
        #expect(declined.attempts[0].state == .failed)
        _ = payment.settle("a", .charged(amount: "59.00", reference: "r", answer: []), at: end)
        #expect(payment.attempts[0].state == .reversing)
    }

    @Test func `a clock behind the beginning begins the waits again`() {
        var payment = begun()
        _ = payment.settle("a", .lost, at: Self.now)
        let behind = Self.now.advanced(by: .seconds(-86_400))
        func advance(_ seconds: Int) -> [State] {
            payment.advance(
                at: behind.advanced(by: .seconds(seconds)), since: behind.advanced(by: .seconds(-3600)),
                open: [], lifetime: .seconds(72 * 3600), PaymentTimings()
            ).map(\.state)
        }
        #expect(advance(0).isEmpty && payment.attempts[0].begunAt == behind)
        #expect(advance(599).isEmpty)
        #expect(advance(600) == [.reversing])
    }

    @Test func `an uncertain attempt is written as begun, so that an older release reverses it`() throws {
        var payment = begun()
        _ = payment.settle("a", .ended, at: Self.now.advanced(by: .seconds(3)))
        let text = String(decoding: payment.json, as: UTF8.self)
        #expect(text.contains(#""state":"begun","uncertain":true"#) && text.contains("endSeenAt"))
        #expect(Payment(json: try JSONDocument(payment.json).root) == payment)
        let unknown = text.replacing(#""state":"begun""#, with: #""state":"uncertain""#)
        #expect(Payment(json: try JSONDocument(Array(unknown.utf8)).root) == nil)
    }

    @Test func `each failure tells the customer its reason`() throws {
        for failure in PaymentFailure.allCases {
            let root = try JSONDocument(failure.answer).root
            #expect(root["status"]?.string == "STATUS_FAILURE")
            #expect(root["errors"]?[0]?["code"]?.string == "unknown")
            #expect(root["errors"]?[0]?["message"]?.string == failure.rawValue)
        }
        for refusal in Payment.Refusal.allCases { #expect(!refusal.failure.rawValue.isEmpty) }
    }
}
