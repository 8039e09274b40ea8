import BalloonPOSIX
import Testing

@Suite struct BackoffTests {
    private let backoff = Backoff(from: .seconds(1), to: .seconds(600), jitter: 0.5...1)

    @Test func `the back-off delay doubles up to its bound`() {
        let delays = [1, 2, 3, 10, 11, 1000].map { backoff.delay(after: $0, random: 1) }
        #expect(delays == [1, 2, 4, 512, 600, 600].map { .seconds($0) })
    }

    @Test func `a jitter of one half makes half of the back-off delay random`() {
        #expect(backoff.delay(after: 2, random: 0) == .seconds(1))
        #expect(backoff.delay(after: 2, random: 0.5) == .milliseconds(1500))
    }

    @Test func `a requested delay lengthens a delay up to a bound, and never shortens it`() {
        let hour = Duration.seconds(3600)
        #expect(backoff.delay(after: 1, atLeast: .seconds(90), limit: hour, random: 1) == .seconds(90))
        #expect(backoff.delay(after: 5, atLeast: .zero, limit: hour, random: 1) == .seconds(16))
        #expect(backoff.delay(after: 1, atLeast: .seconds(90_000), limit: hour, random: 1) == hour)
        #expect(backoff.delay(after: 1, atLeast: hour, random: 1) == .seconds(600))
    }

    @Test func `each failure in a row selects the next back-off delay, and a reset the first`() {
        var backoff = Backoff([.seconds(1), .seconds(5)])
        #expect([backoff.fail(), backoff.fail(), backoff.fail()] == [.seconds(1), .seconds(5), .seconds(5)])
        backoff.reset()
        #expect(backoff.fail() == .seconds(1))
    }

    @Test func `a back-off from zero has no delay`() {
        #expect(Backoff(from: .zero, to: .seconds(1)).delays == [.zero])
    }
}
