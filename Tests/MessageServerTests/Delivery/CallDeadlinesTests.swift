import BalloonPOSIX
import Testing

@testable import MessageServer

@Suite struct CallDeadlinesTests {
    @Test func `deadlines expire in the order of their times, except removed ones`() async {
        let deadlines = CallDeadlines()
        let (expired, continuation) = AsyncStream<Int>.makeStream()
        let tickets = (0..<4).map { _ in deadlines.nextTicket() }
        for (index, ticket) in tickets.enumerated().reversed() {
            deadlines.add(ticket, after: .seconds(3600 * (index + 1))) { continuation.yield(index) }
        }
        deadlines.remove(tickets[1])
        let now = SystemClock.nanoseconds()
        let hour: UInt64 = 3600 * 1_000_000_000
        deadlines.fire(at: now)
        // After two hours the first is due, and the second was removed; then all others at once.
        deadlines.fire(at: now + 2 * hour)
        continuation.yield(-1)
        deadlines.fire(at: now + 5 * hour)
        continuation.finish()
        #expect(await expired.reduce(into: []) { $0.append($1) } == [0, -1, 2, 3])
    }

    @Test func `the timer fires for the earliest deadline`() async {
        let deadlines = CallDeadlines()
        let (late, early) = (deadlines.nextTicket(), deadlines.nextTicket())
        deadlines.add(late, after: .seconds(3600)) { Issue.record("an hour has not passed") }
        await withCheckedContinuation { continuation in
            deadlines.add(early, after: .milliseconds(20)) { continuation.resume() }
        }
    }

    @Test func `a call that ended before its deadline was added never expires`() async {
        let deadlines = CallDeadlines()
        let (early, late) = (deadlines.nextTicket(), deadlines.nextTicket())
        let hasExpired = OnceFlag()
        deadlines.remove(early)
        deadlines.add(early, after: .zero) { _ = hasExpired.claim() }
        await withCheckedContinuation { continuation in
            deadlines.add(late, after: .milliseconds(20)) { continuation.resume() }
        }
        #expect(hasExpired.claim())
    }
}
