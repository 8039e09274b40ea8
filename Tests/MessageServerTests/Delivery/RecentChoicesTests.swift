import BalloonPOSIX
import Testing

@testable import MessageServer

/// Tells whether a choice is certainly the first of its kind, without reading its conversation.
@Suite struct RecentChoicesTests {
    private let start = Timestamp(milliseconds: 1_800_000_000_000)

    private func at(_ seconds: Int) -> Timestamp { start.advanced(by: .seconds(seconds)) }

    @Test func `of two equal choices, only the earlier counts as the first`() {
        let choices = RecentChoices(windowMilliseconds: 10_000, after: nil)
        #expect(choices.isFirst(1, receivedAt: at(0)))
        #expect(choices.isFirst(2, receivedAt: at(0)))
        #expect(!choices.isFirst(1, receivedAt: at(9)))
    }

    @Test func `a choice soon after a restart is not known to be the first`() {
        let choices = RecentChoices(windowMilliseconds: 10_000, after: start)
        #expect(!choices.isFirst(1, receivedAt: at(10)))
        #expect(choices.isFirst(2, receivedAt: at(11)))
    }

    @Test func `an equal choice within the window is found, at any time`() {
        let choices = RecentChoices(windowMilliseconds: 10_000, after: start)
        for second in stride(from: 11, to: 300, by: 3) {
            #expect(choices.isFirst(second, receivedAt: at(second)))
            #expect(!choices.isFirst(second, receivedAt: at(second + 10)))
        }
    }

    @Test
    func
        `above the limit older fingerprints are dropped, and choices of their time count as possible repetitions`()
    {
        let choices = RecentChoices(windowMilliseconds: 10_000, after: start, maximumCount: 2)
        #expect((1...4).allSatisfy { choices.isFirst($0, receivedAt: at(11)) })
        #expect(!choices.isFirst(5, receivedAt: at(11)))
        #expect(!choices.isFirst(6, receivedAt: at(21)))
        #expect(choices.isFirst(7, receivedAt: at(22)))
    }

    @Test func `a choice that is processed late is judged by its arrival time`() {
        let choices = RecentChoices(windowMilliseconds: 10_000, after: start)
        // Processed long after their arrival: only their own times matter.
        for second in 11..<600 { #expect(choices.isFirst(second, receivedAt: at(second))) }
        // This choice arrived before the time from which all choices are remembered.
        #expect(!choices.isFirst(1, receivedAt: at(11)))
    }
}
