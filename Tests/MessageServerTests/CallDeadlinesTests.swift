import BalloonPOSIX
import Testing

@testable import MessageServer

@Suite struct CallDeadlinesTests {
    @Test func `deadlines expire in the order in which they are due, but for those that were removed`() async
    {
        let deadlines = CallDeadlines()
        let (expired, continuation) = AsyncStream<Int>.makeStream()
        let tickets = (0..<4).map { _ in deadlines.nextTicket() }
        for (index, ticket) in tickets.enumerated() {
            deadlines.add(ticket, after: .milliseconds(20 * (index + 1))) { continuation.yield(index) }
        }
        deadlines.remove(tickets[1])
        var seen: [Int] = []
        for await index in expired {
            seen.append(index)
            if index == 3 { break }
        }
        #expect(seen == [0, 2, 3])
    }

    @Test func `a call that ended before its deadline was added never expires`() async {
        let deadlines = CallDeadlines()
        let (early, late) = (deadlines.nextTicket(), deadlines.nextTicket())
        let hasExpired = FirstTime()
        deadlines.remove(early)
        deadlines.add(early, after: .zero) { _ = hasExpired.take() }
        await withCheckedContinuation { continuation in
            deadlines.add(late, after: .milliseconds(20)) { continuation.resume() }
        }
        #expect(hasExpired.take())
    }
}
