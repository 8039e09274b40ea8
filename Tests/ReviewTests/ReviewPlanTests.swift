import BalloonJSON
import BusinessMessages
import Testing

@testable import Review

@Suite struct ReviewPlanTests {
    private static func plan(_ plays: Play...) -> ReviewPlan {
        ReviewPlan(JudgesTests.brief, JudgesTests.business, of: Set(plays))
    }

    private static func greeting() throws -> Transcript {
        let menu = "< " + JudgedScene.quickReply("Order", "Talk to a person")
        return try JudgedScene(.greeting, "first customer", ["> Hi", "< I am a bot.", menu]).transcript
    }

    private static func played(_ scenes: [Scene]) -> [Transcript] { scenes.map { Transcript($0) } }

    @Test func `the greeting is alone and first, and a plan of nothing else ends after it`() {
        let plan = Self.plan(.greeting)
        let due = plan.due(after: [])
        #expect(due.map(\.name) == ["first customer", "second customer"])
        #expect(due.map(\.isAlone) == [true, true])
        #expect(plan.due(after: Self.played(due)).isEmpty)
    }

    @Test func `each button of the menu gets a scene, and each question that it opens gets the word help`()
        throws
    {
        let plan = Self.plan(.stuck)
        let begin = plan.due(after: [])
        var played = [try Self.greeting()] + Self.played(begin.dropFirst().map(\.self))
        let cases = plan.due(after: played)
        #expect(cases.map(\.play) == [.useCases])
        played += Self.played(cases)
        let buttons = plan.due(after: played)
        #expect(buttons.map(\.name) == ["the button \"Order\"", "the button \"Talk to a person\""])
        #expect(buttons[0].steps == [.say("Hi"), .choose(["Order"]), .answer(upTo: ReviewPlan.longestWalk)])
        let form = "< " + JudgedScene.interactive("\"dynamic\":{}")
        var walk = Transcript(buttons[0])
        walk.turns = try JudgedScene(.buttons, "walk", ["> Hi", "< Hello", "> Order", form]).transcript.turns
        played += [walk] + Self.played([buttons[1]])
        let stuck = plan.due(after: played)
        #expect(
            stuck.map(\.name) == [
                "\"help\" while a question is open: form", "\"help\" while a question is open: quickReply",
            ])
        #expect(stuck[0].steps == [.say("Hi"), .say("Order"), .say("help")])
        #expect(plan.due(after: played + Self.played(stuck)).isEmpty)
    }

    @Test func `the help desk closes after everything else`() {
        let plan = Self.plan(.closed, .faults)
        var played: [Transcript] = []
        var plays: [Play] = []
        while case let due = plan.due(after: played), !due.isEmpty, played.count < 100 {
            plays += due.map(\.play)
            played += Self.played(due)
        }
        #expect(plays.last == .closed && plays.contains(.faults))
        #expect(plays.firstIndex(of: .closed).map { $0 > (plays.lastIndex(of: .faults) ?? 0) } == true)
    }

    @Test func `the names of all scenes differ`() {
        let plan = ReviewPlan(JudgesTests.brief, JudgesTests.business, of: Set(Play.allCases))
        var played: [Transcript] = []
        while case let due = plan.due(after: played), !due.isEmpty, played.count < 500 {
            played += Self.played(due)
        }
        let names = played.map(\.scene.name)
        #expect(Set(names).count == names.count)
        #expect(names.count > 40)
    }
}
