import BalloonPOSIX
import Testing

@testable import MessageStore

/// The table of allowed changes: the result of every change in every state.
@Suite struct AssignmentChangeTests {
    private static let ana = person("ana")
    private static let ben = person("ben")
    private static let then = Timestamp(milliseconds: 1000)
    private static let now = Timestamp(milliseconds: 2000)

    /// The expected state, or a refusal, or `unchanged`.
    enum Expected: Equatable {
        case to(Assignment.State)
        case unchanged
        case refused(AssignmentRefusal)
    }

    struct Row: CustomTestStringConvertible {
        let change: AssignmentChange
        /// The results in the states handler, waiting, person (Ana) and closed.
        let expected: [Expected]

        init(_ change: AssignmentChange, _ expected: Expected...) {
            self.change = change
            self.expected = expected
        }

        var testDescription: String { "\(change)" }
    }

    private static let table = [
        Row(.handOff(reason: "agent"), .to(.waiting), .unchanged, .unchanged, .to(.waiting)),
        Row(.claim(ana), .to(.person), .to(.person), .unchanged, .to(.person)),
        Row(.claim(ben), .to(.person), .to(.person), .refused(.claimed(by: ana)), .to(.person)),
        Row(.claim(ben, takes: true), .to(.person), .to(.person), .to(.person), .to(.person)),
        Row(
            .releaseToHandler(note: "done"), .refused(.nothingToRelease), .to(.handler), .to(.handler),
            .refused(.nothingToRelease)),
        Row(
            .releaseToWaiting(), .refused(.nothingToRelease), .unchanged, .to(.waiting),
            .refused(.nothingToRelease)),
        Row(
            .silence(since: then), .refused(.changed), .refused(.changed), .to(.waiting), .refused(.changed)),
        Row(
            .silence(since: Timestamp(milliseconds: 999)), .refused(.changed), .refused(.changed),
            .refused(.changed), .refused(.changed)),
        Row(.unclaimed, .refused(.changed), .to(.handler), .refused(.changed), .refused(.changed)),
        Row(.close, .to(.closed), .to(.closed), .to(.closed), .unchanged),
        Row(.customerClose, .unchanged, .to(.closed), .to(.closed), .unchanged),
        Row(.customerMessage, .unchanged, .unchanged, .unchanged, .to(.handler)),
    ]

    private static func assignment(_ state: Assignment.State) -> Assignment {
        var assignment = Assignment(state: state, record: 7)
        if state == .person {
            assignment.person = ana
            assignment.lastSeen = then
        }
        return assignment
    }

    private static func found(_ transition: Assignment.Transition) -> Expected {
        switch transition {
        case .to(let next): .to(next.state)
        case .unchanged: .unchanged
        case .refused(let refusal): .refused(refusal)
        }
    }

    @Test(arguments: table) func `each change has the expected result in each state`(_ row: Row) {
        for (state, expected) in zip(Assignment.State.allCases, row.expected) {
            let transition = Self.assignment(state).applying(row.change, at: Self.now)
            #expect(Self.found(transition) == expected, "from \(state)")
            guard case .to(let next) = transition else { continue }
            #expect(next.since == Self.now)
            #expect((next.person != nil) == (next.state == .person))
            #expect((next.lastSeen != nil) == (next.state == .person))
        }
    }

    @Test func `a place in a queue changes nothing but the queue, until the conversation leaves people`()
        throws
    {
        let place = Placement(queue: "returns", priority: 3, rule: "1: intent returns")
        var placed = place
        placed.since = Self.now
        var assignment = Self.assignment(.waiting)
        assignment.since = Self.then
        func change(_ change: AssignmentChange) throws -> Assignment {
            guard case .to(let next) = assignment.applying(change, at: Self.now) else {
                throw StoreError.closed
            }
            return next
        }
        var expected = assignment
        (expected.placement, expected.waitBegan) = (placed, 7)
        expected.unanswered = .init(since: Self.then, isFirst: true)
        #expect(try change(.place(place)) == expected)
        #expect(try change(.releaseToWaiting(place)) == expected)
        expected.note = "urgent"
        #expect(try change(.releaseToWaiting(note: "urgent", place)) == expected)
        assignment = expected
        assignment.record = 9
        #expect(try change(.place(Placement(queue: "other"))).stateRecord == 7)
        let claimed = try change(.claim(Self.ana))
        #expect(claimed.placement == placed && claimed.waitBegan == nil)
        assignment = claimed
        #expect(try change(.releaseToWaiting()).placement == placed)
        #expect(try change(.releaseToWaiting(Placement(queue: "b"))).placement?.queue == "b")
        #expect(try change(.releaseToHandler()).placement == nil)
        #expect(try change(.close).placement == nil)
        for state in [Assignment.State.handler, .person, .closed] {
            #expect(Self.assignment(state).applying(.place(place), at: Self.now) == .refused(.changed))
        }
    }

    @Test func `an offer is part of the wait, and ends with a claim, a decline and another queue`() throws {
        var waiting = Self.assignment(.waiting)
        waiting.since = Self.then
        let late = Timestamp(milliseconds: 3000)
        let first = Offer(to: Self.ana, until: late)
        func changed(_ assignment: Assignment, _ change: AssignmentChange) throws -> Assignment {
            guard case .to(let next) = assignment.applying(change, at: Self.now) else {
                throw StoreError.closed
            }
            return next
        }
        let offered = try changed(waiting, .offer(first))
        #expect(offered.offer == first && offered.since == Self.then && offered.stateRecord == 7)
        #expect(offered.offer?.person(at: Self.now) == Self.ana && offered.offer?.person(at: late) == nil)
        #expect(offered.applying(.decline(Self.ben), at: Self.now) == .refused(.changed))
        let declined = try changed(offered, .decline(Self.ana))
        #expect(declined.offer?.person == nil && declined.offer?.asked == ["ana"])
        #expect(declined.applying(.decline(Self.ana), at: Self.now) == .refused(.changed))
        #expect(try changed(offered, .claim(Self.ben)).offer == nil)
        var placed = offered
        placed.placement = Placement(queue: "a", rule: "default")
        #expect(try changed(placed, .place(Placement(queue: "b"))).offer == nil)
        let person = Self.assignment(.person)
        let transferred = try changed(person, .releaseToWaiting(note: "knows you", offer: first))
        #expect(transferred.offer == first && transferred.note == "knows you")
        // A conversation that a person claimed from its handler gets its first queue after the transfer.
        #expect(try changed(transferred, .place(Placement(queue: "b", rule: "default"))).offer == first)
        for state in [Assignment.State.handler, .person, .closed] {
            #expect(Self.assignment(state).applying(.offer(first), at: Self.now) == .refused(.changed))
        }
    }

    @Test func `a snooze ends with a message of the customer, and with the person's work`() throws {
        let late = Timestamp(milliseconds: 3000)
        let person = Self.assignment(.person)
        guard case .to(let snoozed) = person.applying(.snooze(until: late), at: Self.now) else {
            throw StoreError.closed
        }
        #expect(snoozed.snoozedUntil == late && snoozed.person == Self.ana && snoozed.lastSeen == Self.now)
        #expect(snoozed.applying(.snooze(until: late), at: Self.now) == .unchanged)
        for change in [AssignmentChange.customerMessage, .snooze(until: nil)] {
            guard case .to(let next) = snoozed.applying(change, at: Self.now) else { throw StoreError.closed }
            #expect(next.snoozedUntil == nil && next.state == .person && next.lastSeen == Self.now)
        }
        guard case .to(let released) = snoozed.applying(.releaseToWaiting(), at: Self.now) else {
            throw StoreError.closed
        }
        #expect(released.snoozedUntil == nil)
        for state in [Assignment.State.handler, .waiting, .closed] {
            #expect(Self.assignment(state).applying(.snooze(until: late), at: Self.now) == .refused(.changed))
        }
    }

    @Test func `a conversation that the customer closed can neither be claimed nor handed off`() {
        for state in [Assignment.State.handler, .closed] {
            let assignment = Self.assignment(state)
            #expect(
                assignment.applying(.claim(Self.ana), at: Self.now, isClosed: true) == .refused(.closed))
            #expect(
                assignment.applying(.handOff(reason: nil), at: Self.now, isClosed: true) == .unchanged)
        }
    }

    @Test func `a long reason or note is cut`() throws {
        let long = String(repeating: "é", count: 1000)
        guard case .to(let waiting) = Assignment.handler.applying(.handOff(reason: long), at: Self.now)
        else { throw StoreError.closed }
        #expect(waiting.reason?.utf8.count == Assignment.maximumTextBytes)
        guard case .to(let released) = waiting.applying(.releaseToHandler(note: long), at: Self.now)
        else { throw StoreError.closed }
        #expect(released.note?.utf8.count == Assignment.maximumTextBytes)
        #expect(released.reason == nil)
    }

    @Test func `a release to another person keeps the reason, and needs no text for the customer`() throws {
        var assignment = Assignment.handler
        for change in [
            AssignmentChange.handOff(reason: "refund"), .claim(Self.ana), .releaseToWaiting(note: "asks Bo"),
        ] {
            guard case .to(let next) = assignment.applying(change, at: Self.now) else {
                throw StoreError.closed
            }
            assignment = next
        }
        #expect((assignment.state, assignment.reason, assignment.note) == (.waiting, "refund", "asks Bo"))
        #expect(assignment.isAnnounced)
    }

    @Test(arguments: [
        ([AssignmentChange.claim(Self.ana)], "refund agreed"),
        ([.handOff(reason: "again"), .claim(Self.ana)], nil),
    ])
    func `the note of a release stays for a person who claims next, and ends with the next hand-off`(
        changes: [AssignmentChange], note: String?
    ) throws {
        var assignment = Self.assignment(.person)
        for change in [.releaseToHandler(note: "refund agreed")] + changes {
            guard case .to(let next) = assignment.applying(change, at: Self.now) else {
                throw StoreError.closed
            }
            assignment = next
        }
        #expect(assignment.note == note)
    }

    @Test func `a person whose identifier has control characters, or is empty or too long, is refused`() {
        #expect(Person(id: "") == nil)
        #expect(Person(id: "a\nb") == nil)
        #expect(Person(id: "a", name: "") == nil)
        #expect(Person(id: String(repeating: "a", count: 201)) == nil)
        #expect(Person(id: "agent-7", name: "Ana")?.description == "Ana (agent-7)")
    }
}

/// A person whose identifier is valid.
func person(_ id: String, name: String? = nil) -> Person {
    guard let person = Person(id: id, name: name) else { fatalError("\(id) is not valid") }
    return person
}
