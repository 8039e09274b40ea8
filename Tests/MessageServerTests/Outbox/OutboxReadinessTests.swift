import BalloonPOSIX
import Testing

@testable import MessageServer

@Suite struct OutboxReadinessTests {
    @Test func `an outbox that sends is ready`() {
        #expect(ReadinessCheck.outbox([], queuedReplies: 3) == ReadinessCheck("outbox", .ok))
    }

    @Test func `a paused outbox reports the cause and the waiting replies, but not Apple's text`() {
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
