import BalloonTransport
import Testing

@testable import GatewayClient

@Suite struct RetryPolicyTests {
    private var policy = RetryPolicy()

    init() { policy.maximumAttempts = 100 }

    @Test func `the wait before a retry doubles up to its bound`() {
        let waits = (1...8).map { policy.delay(afterAttempt: $0, retryAfter: nil, random: 1) }
        #expect(waits == [250, 500, 1000, 2000, 4000, 8000, 8000, 8000].map { .milliseconds($0) })
        #expect(policy.delay(afterAttempt: 99, retryAfter: nil, random: 1) == .seconds(8))
    }

    @Test func `half of the wait before a retry is random`() {
        #expect(policy.delay(afterAttempt: 3, retryAfter: nil, random: 0) == .milliseconds(500))
        #expect(policy.delay(afterAttempt: 3, retryAfter: nil, random: 0.5) == .milliseconds(750))
    }

    @Test func `no wait follows the last attempt`() {
        policyWithTwoAttempts { policy in
            #expect(policy.delay(afterAttempt: 1, retryAfter: nil, random: 0) != nil)
            #expect(policy.delay(afterAttempt: 2, retryAfter: nil, random: 0) == nil)
            #expect(policy.delay(afterAttempt: 2, retryAfter: .seconds(1), random: 0) == nil)
        }
    }

    @Test func `Retry-After lengthens a wait, and ends the attempts when it is too long`() {
        #expect(policy.delay(afterAttempt: 1, retryAfter: .seconds(9), random: 1) == .seconds(9))
        #expect(policy.delay(afterAttempt: 1, retryAfter: .zero, random: 1) == .milliseconds(250))
        #expect(policy.delay(afterAttempt: 1, retryAfter: .seconds(30), random: 1) == .seconds(30))
        #expect(policy.delay(afterAttempt: 1, retryAfter: .seconds(31), random: 1) == nil)
    }

    @Test(arguments: [
        ("0", 0), ("17", 17), ("Sun, 06 Nov 1994 08:49:37 GMT", 37), ("Sun, 06 Nov 1994 08:48:59 GMT", 0),
    ])
    func `Retry-After is a number of seconds or a date`(field: String, seconds: Int) {
        #expect(Duration(retryAfter: field, now: 784_111_740) == .seconds(seconds))
    }

    @Test(
        arguments: [nil, "", "-1", "1.5", "soon", "9999999999", "Sunday, 06-Nov-94 08:49:37 GMT"] as [String?]
    )
    func `any other value of Retry-After is ignored`(field: String?) {
        #expect(Duration(retryAfter: field, now: 784_111_740) == nil)
    }

    private func policyWithTwoAttempts(_ body: (RetryPolicy) -> Void) {
        var policy = RetryPolicy()
        policy.maximumAttempts = 2
        body(policy)
    }
}
