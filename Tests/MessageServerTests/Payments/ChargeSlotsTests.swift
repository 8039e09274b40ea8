import BalloonPOSIX
import Payments
import TestSupport
import Testing

@testable import MessageServer

/// The slots of calls that charge, of which late ones leave room for others.
@Suite struct ChargeSlotsTests {
    private static func timings(answer: Duration) -> PaymentTimings {
        var timings = PaymentTimings()
        timings.answer = answer
        return timings
    }

    @Test func `late calls return their slots, are not cancelled, and are bounded`() async throws {
        let slots = ChargeSlots(Self.timings(answer: .milliseconds(1)), on: SharedThreads())
        let gate = CallGate()
        let calls = (0..<1500).map { _ in
            Task {
                do {
                    return try await slots.run(OnceFlag()) { () -> Bool in
                        await gate.wait()
                        return !Task.isCancelled
                    }
                } catch { return false }
            }
        }
        // All of the first calls are late by then, so that no further call begins.
        #expect(
            await eventually {
                do { return try await !slots.run(OnceFlag()) { true } } catch { return true }
            })
        gate.release()
        var answered = 0
        for call in calls where await call.value { answered += 1 }
        #expect((1024...1024 + 256).contains(answered))
        #expect(try await slots.run(OnceFlag()) { true })
    }

    @Test func `a call that is not allowed to depart is not made`() async throws {
        let slots = ChargeSlots(PaymentTimings(), on: SharedThreads())
        let departure = OnceFlag()
        #expect(departure.claim())
        await #expect(throws: HandlerPayments.Failure.self) {
            try await slots.run(departure) { Issue.record("the call was made") }
        }
    }
}
