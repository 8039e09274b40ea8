import BalloonPOSIX
import Testing

@testable import MessageServer

@Suite struct SendScheduleTests {
    private let schedule = SendSchedule()

    @Test func `the wait doubles up to its bound`() {
        let waits = [1, 2, 3, 10, 11, 1000].map {
            schedule.delay(afterAttempts: $0, atLeast: nil, random: 1)
        }
        #expect(waits == [1, 2, 4, 512, 600, 600].map { .seconds($0) })
    }

    @Test func `half of the wait is left to chance`() {
        #expect(schedule.delay(afterAttempts: 2, atLeast: nil, random: 0) == .seconds(1))
    }

    @Test func `Retry-After lengthens the wait up to its bound and never shortens it`() {
        #expect(schedule.delay(afterAttempts: 1, atLeast: .seconds(90), random: 1) == .seconds(90))
        #expect(schedule.delay(afterAttempts: 5, atLeast: .zero, random: 1) == .seconds(16))
        #expect(schedule.delay(afterAttempts: 1, atLeast: .seconds(90_000), random: 1) == .seconds(3600))
    }
}

@Suite struct OutboxReadinessTests {
    @Test func `an outbox that sends is ready`() {
        #expect(ReadinessCheck.outbox([], queuedReplies: 3) == ReadinessCheck("outbox", .ok))
    }

    @Test func `a paused outbox says why and how many replies wait, without Apple's words`() {
        let pause = GatewayHealth.Report(
            business: nil, cause: .refused(status: 403, reason: "secret words"),
            since: Timestamp(milliseconds: 0))
        #expect(
            ReadinessCheck.outbox([pause], queuedReplies: 3)
                == ReadinessCheck(
                    "outbox",
                    .degraded(
                        reason:
                            "no replies are sent, 3 wait: the gateway refuses with 403: check the secret and the clock"
                    )))
    }
}
