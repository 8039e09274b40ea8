import BalloonPOSIX
import Testing

@testable import MessageServer

/// Tells whether a choice is certainly the first of its kind, without reading its conversation.
@Suite struct RecentChoicesTests {
    private let start = Timestamp(milliseconds: 1_800_000_000_000)

    private func at(_ seconds: Int) -> Timestamp { start.advanced(by: .seconds(seconds)) }

    @Test func `of two with one fingerprint only the earlier is the first`() {
        let choices = RecentChoices(windowMilliseconds: 10_000, after: nil)
        #expect(choices.isFirst(1, receivedAt: at(0)))
        #expect(choices.isFirst(2, receivedAt: at(0)))
        #expect(!choices.isFirst(1, receivedAt: at(9)))
    }

    @Test func `no choice is certain within a window after an earlier process's messages`() {
        let choices = RecentChoices(windowMilliseconds: 10_000, after: start)
        #expect(!choices.isFirst(1, receivedAt: at(10)))
        #expect(choices.isFirst(2, receivedAt: at(11)))
    }

    @Test func `a choice is remembered for one window, across any number of generations`() {
        let choices = RecentChoices(windowMilliseconds: 10_000, after: start)
        for second in stride(from: 11, to: 300, by: 3) {
            #expect(choices.isFirst(second, receivedAt: at(second)))
            #expect(!choices.isFirst(second, receivedAt: at(second + 10)))
        }
    }

    @Test func `above the limit older choices are dropped, and their time is uncertain`() {
        let choices = RecentChoices(windowMilliseconds: 10_000, after: start, maximumCount: 2)
        #expect((1...4).allSatisfy { choices.isFirst($0, receivedAt: at(11)) })
        #expect(!choices.isFirst(5, receivedAt: at(11)))
        #expect(!choices.isFirst(6, receivedAt: at(21)))
        #expect(choices.isFirst(7, receivedAt: at(22)))
    }

    @Test func `a delayed choice is as certain as a new one, when it arrives in order`() {
        let choices = RecentChoices(windowMilliseconds: 10_000, after: start)
        // Processed long after their arrival: only their own times matter.
        for second in 11..<600 { #expect(choices.isFirst(second, receivedAt: at(second))) }
        // Out of order, from before the remembered time.
        #expect(!choices.isFirst(1, receivedAt: at(11)))
    }
}
