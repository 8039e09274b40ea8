import BalloonPOSIX
import Testing

@testable import MessageServer
@testable import MessageStore

@Suite struct AssignmentDeadlinesTests {
    private static let start = Timestamp(milliseconds: 1_800_000_000_000)
    private static let people = {
        var people = PeopleConfiguration(text: "Soon.")
        people.texts[.unclaimed] = Localized("Sorry.")
        return people
    }()

    private static func minutes(_ minutes: Int) -> Timestamp { start.advanced(by: .seconds(60 * minutes)) }

    private static let waiting: [(minute: Int, isAnnounced: Bool, [AssignmentDeadlines.Step])] = [
        (-5, false, [.sayText]), (0, false, [.sayText]), (9, false, [.sayText]),
        (10, false, [.sayText, .sayUnclaimedText]), (1439, false, [.sayText, .sayUnclaimedText]),
        (1440, false, [.returnToHandler]), (100_000, false, [.returnToHandler]),
        (0, true, []), (9, true, []), (10, true, [.sayUnclaimedText]), (1440, true, [.returnToHandler]),
    ]

    @Test(arguments: waiting)
    func `a waiting customer gets the texts, and the handler answers again when the wait is too long`(
        _ minute: Int, _ isAnnounced: Bool, _ steps: [AssignmentDeadlines.Step]
    ) {
        let assignment = Self.assignment(.waiting, isAnnounced: isAnnounced)
        let deadlines = AssignmentDeadlines(people: Self.people)
        #expect(deadlines.steps(for: assignment, at: Self.minutes(minute)) == steps)
    }

    @Test(arguments: [
        (29, 0, false), (30, 0, true), (31, 0, true), (40, 11, false), (40, 10, true), (100_000, 0, true),
    ])
    func `a silent person loses the conversation some time after the last sign of life`(
        _ minute: Int, _ lastSeen: Int, _ waits: Bool
    ) {
        let assignment = Self.assignment(.person, lastSeen: Self.minutes(lastSeen))
        let steps = AssignmentDeadlines(people: Self.people).steps(
            for: assignment, at: Self.minutes(minute))
        #expect(steps == (waits ? [.waitAgain(lastSeen: Self.minutes(lastSeen))] : []))
    }

    @Test(arguments: [
        (Assignment.State.waiting, true, 2, false), (.waiting, true, 3, true), (.person, true, 3, true),
        (.person, false, 4, false), (.person, false, 5, true), (.waiting, false, 5, true),
    ])
    func `a customer is overdue after the target for the first answer, or for a later one`(
        _ state: Assignment.State, _ isFirst: Bool, _ minute: Int, _ isOverdue: Bool
    ) {
        var people = PeopleConfiguration(text: "Soon.")
        people.queues = [QueueConfiguration(id: "a")]
        (people.queues[0].firstAnswerTime, people.queues[0].answerTime) = (.seconds(180), .seconds(300))
        var assignment = Self.assignment(state, isAnnounced: true)
        assignment.placement = Placement(queue: "a", rule: "default")
        assignment.unanswered = .init(since: Self.start, isFirst: isFirst)
        let steps = AssignmentDeadlines(people: people).steps(for: assignment, at: Self.minutes(minute))
        #expect(steps == (isOverdue ? [.sayOverdue(since: Self.start)] : []))
        let figures = QueueFigures.all(people, [assignment], at: Self.minutes(minute))
        #expect(figures.map(\.overdue) == [isOverdue ? 1 : 0])
        assignment.unanswered = nil
        #expect(AssignmentDeadlines(people: people).steps(for: assignment, at: Self.minutes(minute)).isEmpty)
    }

    @Test(arguments: [(119, []), (120, [AssignmentDeadlines.Step.endSnooze]), (150, [.endSnooze])])
    func `a person who put the conversation aside is not silent before its time, which then ends`(
        _ minute: Int, _ steps: [AssignmentDeadlines.Step]
    ) {
        var assignment = Self.assignment(.person, lastSeen: Self.start)
        assignment.snoozedUntil = Self.minutes(120)
        let deadlines = AssignmentDeadlines(people: Self.people)
        #expect(deadlines.steps(for: assignment, at: Self.minutes(minute)) == steps)
    }

    /// The start is a Friday, 8:00 in UTC; it is open until 8:05, and again from 9:00 on.
    @Test(
        arguments: [
            (Assignment.State.waiting, 4, [.sayText]), (.waiting, 30, [.sayText]), (.waiting, 64, [.sayText]),
            (.waiting, 65, [.sayText, .sayUnclaimedText]), (.waiting, 600, [.sayText, .sayUnclaimedText]),
            // The opening ends at 20:00, and everything waits for Monday.
            (.waiting, 721, [.sayText]), (.person, 30, []), (.person, 84, []),
            (.person, 85, [.waitAgain(lastSeen: start)]), (.person, 721, []),
        ] as [(Assignment.State, Int, [AssignmentDeadlines.Step])])
    func `with hours only opening time counts, and no text about time is sent while it is closed`(
        _ state: Assignment.State, _ minute: Int, _ steps: [AssignmentDeadlines.Step]
    ) throws {
        var people = Self.people
        people.hours = OpeningHours(
            zone: try #require(TimeZoneFile("UTC")),
            week: (0..<7).map { day in
                day == 4 ? [.init(begin: 28_800, end: 29_100), .init(begin: 32_400, end: 72_000)] : []
            }, dates: [:])
        let assignment = Self.assignment(state, lastSeen: Self.start)
        let deadlines = AssignmentDeadlines(people: people)
        #expect(deadlines.steps(for: assignment, at: Self.minutes(minute)) == steps)
    }

    /// A person typed, claimed again or read at minute `sign`.
    @Test(arguments: [(30, 0, true), (30, 1, false), (59, 30, false), (60, 30, true)])
    func `each sign of life lets a silent person keep the conversation`(
        _ minute: Int, _ sign: Int, _ waits: Bool
    ) {
        let assignment = Self.assignment(.person, lastSeen: Self.start)
        let steps = AssignmentDeadlines(people: Self.people).steps(
            for: assignment, at: Self.minutes(minute), sign: Self.minutes(sign))
        #expect(steps == (waits ? [.waitAgain(lastSeen: Self.minutes(sign))] : []))
    }

    @Test(arguments: [(10, 9, true), (10, 10, false), (11, 10, true)])
    func `no text is due while a person types`(_ minute: Int, _ sign: Int, _ isDue: Bool) {
        let steps = AssignmentDeadlines(people: Self.people).steps(
            for: Self.assignment(.waiting), at: Self.minutes(minute), sign: Self.minutes(sign))
        #expect(steps == (isDue ? [.sayText, .sayUnclaimedText] : []))
    }

    @Test(arguments: [Assignment.State.handler, .closed])
    func `nothing is due in a conversation that nobody has`(_ state: Assignment.State) {
        let steps = AssignmentDeadlines(people: Self.people).steps(
            for: Self.assignment(state), at: Self.minutes(100_000))
        #expect(steps.isEmpty)
    }

    @Test func `without people no text is due, and the default times apply`() {
        let deadlines = AssignmentDeadlines(people: nil)
        let waiting = Self.assignment(.waiting)
        #expect(deadlines.steps(for: waiting, at: Self.minutes(1439)).isEmpty)
        #expect(deadlines.steps(for: waiting, at: Self.minutes(1440)) == [.returnToHandler])
        let person = Self.assignment(.person, lastSeen: Self.start)
        #expect(deadlines.steps(for: person, at: Self.minutes(30)) == [.waitAgain(lastSeen: Self.start)])
    }

    @Test(arguments: [(7, true, []), (6, true, [AssignmentDeadlines.Step.sayTransferText]), (6, false, [])])
    func `a text about a transfer is due only when a person released the conversation, and with such a text`(
        _ began: UInt64, _ hasText: Bool, _ steps: [AssignmentDeadlines.Step]
    ) {
        var assignment = Self.assignment(.waiting, isAnnounced: true)
        assignment.began = .init(record: began, sequence: 1)
        var people = Self.people
        if hasText { people.texts[.transfer] = Localized("A colleague continues.") }
        // The person who releases has just typed.
        for sign in [nil, Self.start] {
            let due = AssignmentDeadlines(people: people).steps(for: assignment, at: Self.start, sign: sign)
            #expect(due == steps)
        }
    }

    @Test func `without unclaimedText the step sayUnclaimedText is never due`() {
        let deadlines = AssignmentDeadlines(people: PeopleConfiguration(text: "Soon."))
        #expect(
            deadlines.steps(for: Self.assignment(.waiting), at: Self.minutes(60)) == [.sayText])
    }

    private static func assignment(
        _ state: Assignment.State, isAnnounced: Bool = false, lastSeen: Timestamp? = nil
    ) -> Assignment {
        var assignment = Assignment(state: state, record: 7)
        assignment.since = start
        assignment.isAnnounced = isAnnounced
        assignment.lastSeen = lastSeen
        return assignment
    }
}
