import BalloonPOSIX
import Testing

@testable import MessageServer

/// Whether a choice is surely the first of its kind, told without a look into its conversation.
@Suite struct RecentChoicesTests {
    private let start = Timestamp(milliseconds: 1_800_000_000_000)

    private func at(_ seconds: Int) -> Timestamp { start.advanced(by: .seconds(seconds)) }

    @Test func `of two with one fingerprint only the earlier is the first`() {
        let choices = RecentChoices(windowMilliseconds: 10_000, after: nil)
        #expect(choices.isFirst(1, receivedAt: at(0)))
        #expect(choices.isFirst(2, receivedAt: at(0)))
        #expect(!choices.isFirst(1, receivedAt: at(9)))
    }

    @Test func `nothing is sure within a window of what an earlier life took in`() {
        let choices = RecentChoices(windowMilliseconds: 10_000, after: start)
        #expect(!choices.isFirst(1, receivedAt: at(10)))
        #expect(choices.isFirst(2, receivedAt: at(11)))
    }

    @Test func `a choice is remembered for a window after the latest, however many generations begin`() {
        let choices = RecentChoices(windowMilliseconds: 10_000, after: start)
        for second in stride(from: 11, to: 300, by: 3) {
            #expect(choices.isFirst(second, receivedAt: at(second)))
            #expect(!choices.isFirst(second, receivedAt: at(second + 10)))
        }
    }

    @Test func `beyond the bound older ones are forgotten, and nothing is sure of their time`() {
        let choices = RecentChoices(windowMilliseconds: 10_000, after: start, maximumCount: 2)
        #expect((1...4).allSatisfy { choices.isFirst($0, receivedAt: at(11)) })
        #expect(!choices.isFirst(5, receivedAt: at(11)))
        #expect(!choices.isFirst(6, receivedAt: at(21)))
        #expect(choices.isFirst(7, receivedAt: at(22)))
    }

    @Test func `what waited long is as sure as what is new, while it comes in its order`() {
        let choices = RecentChoices(windowMilliseconds: 10_000, after: start)
        // Handed over long after they came in: no clock but theirs is asked.
        for second in 11..<600 { #expect(choices.isFirst(second, receivedAt: at(second))) }
        // Out of order, from before what is remembered.
        #expect(!choices.isFirst(1, receivedAt: at(11)))
    }
}
