import BalloonPOSIX
import MessageStore
import TestSupport
import Testing

@testable import MessageServer
@testable import MessageStore

/// A supermarket before and after Christmas on a manual clock: 200 customers in three languages, four queues and twelve people.
///
/// The rules, offers, hours and changes are those of the server; only the store and its clock are replaced by values.
@Suite struct SupermarketTests {
    @Test(arguments: [1, 2] as [UInt64])
    func
        `every customer is answered by a person of the queue, in order, in the hours, and held by one at most`(
            _ seed: UInt64
        ) throws
    {
        var market = try Supermarket(seed: seed)
        let end = try #require(Timestamp(rfc3339: "2026-12-30T12:00:00+01:00"))
        while market.now < end {
            market.tick()
            #expect(market.faults == [])
            if !market.faults.isEmpty { return }
        }
        #expect(market.customers.count { $0.servedBy != nil } == 200)
        #expect(market.customers.allSatisfy { $0.assignment.state == .handler })
        // Each way was used; otherwise the run has proved nothing.
        #expect(market.ignored > 0 && market.transfers > 0 && market.silences > 0 && market.overflows > 0)
        #expect(market.customers.contains { $0.texts.contains(.sayUnclaimedText) })
    }

    @Test func `the same seed gives the same end`() throws {
        var runs: [[String?]] = []
        for _ in 0..<2 {
            var market = try Supermarket(seed: 7)
            for _ in 0..<500 { market.tick() }
            runs.append(market.customers.map(\.servedBy))
        }
        #expect(runs[0] == runs[1])
    }
}

private struct Customer {
    let arrives: Timestamp
    let facts: RoutingFacts
    var assignment = Assignment.handler
    var texts: [AssignmentDeadlines.Step] = []
    /// When the person who has the conversation answers; nil for a person who never does.
    var answersAt: Timestamp?
    var servedBy: String?
}

private struct Supermarket {
    var now: Timestamp
    var customers: [Customer]
    let people: PeopleConfiguration
    /// The twelve people; the last four take the next conversation by themselves.
    let persons: [Person]
    var generator: SeededGenerator
    var faults: [String] = []
    var (ignored, transfers, silences, overflows) = (0, 0, 0, 0)
    private var record: UInt64 = 0

    private static let languages = ["en_GB", "de_DE", "fr_FR"]
    private static let intents = [nil, "returns", "bakery", nil]

    init(seed: UInt64) throws {
        now = try #require(Timestamp(rfc3339: "2026-12-23T07:00:00+01:00"))
        var generator = SeededGenerator(seed: seed)
        let start = now
        people = try Self.people()
        persons = (1...12).compactMap { Person(id: "p\($0)") }
        customers = (0..<200).map { _ in
            var facts = RoutingFacts()
            facts.locale = Self.languages[Int.random(in: 0..<3, using: &generator)]
            facts.intent = Self.intents[Int.random(in: 0..<4, using: &generator)]
            return Customer(
                arrives: start.advanced(
                    by: .seconds(60 * Int.random(in: 0..<5 * 24 * 60, using: &generator))),
                facts: facts)
        }
        self.generator = generator
    }

    /// Open on working days and Saturdays; Christmas Eve ends at noon, and the holidays are closed.
    private static func people() throws -> PeopleConfiguration {
        let day = [
            OpeningHours.Span(begin: 8 * 3600, end: 12 * 3600), .init(begin: 13 * 3600, end: 20 * 3600),
        ]
        var people = PeopleConfiguration(text: "Soon.")
        people.hours = OpeningHours(
            zone: try #require(TimeZoneFile("Europe/Berlin")),
            week: Array(repeating: day, count: 6) + [[]],
            dates: [
                .init(year: 2026, month: 12, day: 24): [.init(begin: 8 * 3600, end: 12 * 3600)],
                .init(month: 12, day: 25): [], .init(month: 12, day: 26): [],
            ])
        people.texts[.unclaimed] = Localized("Sorry.")
        people.texts[.closed] = Localized("Closed.")
        people.unclaimedTime = .seconds(120)
        people.silentTime = .seconds(600)
        people.returnTime = .seconds(7 * 86_400)
        people.queues = ["general", "returns", "bakery", "french"].map { QueueConfiguration(id: $0) }
        for index in people.queues.indices { people.queues[index].acceptTime = .seconds(60) }
        people.queues[1].persons = ["p1", "p2", "p3", "p9"]
        people.queues[1].priority = 5
        people.queues[1].capacity = 1
        people.queues[1].overflow = .init(queue: "general", time: .seconds(15 * 60))
        people.queues[2].persons = ["p4", "p5", "p10"]
        people.queues[2].languages = ["de", "en"]
        people.queues[2].capacity = 2
        people.queues[3].persons = ["p6", "p11"]
        people.queues[3].languages = ["fr"]
        people.queues[3].capacity = 2
        people.queues[3].overflow = .init(queue: "general", time: .seconds(30 * 60))
        people.rules = [
            QueueRule(queue: "french", locale: "fr"), QueueRule(queue: "returns", intent: "returns"),
            QueueRule(queue: "bakery", intent: "bakery"),
        ]
        return people
    }

    private var isOpen: Bool { people.openingTime(of: nil).isOpen(at: now) }

    mutating func tick() {
        arrive()
        takeSteps()
        offer()
        accept()
        takeNext()
        answer()
        check()
        now = now.advanced(by: .seconds(isOpen ? 60 : 300))
    }

    /// Applies a change as the store does; a refused change is a fault.
    private mutating func change(_ index: Int, _ change: AssignmentChange) {
        switch customers[index].assignment.applying(change, at: now) {
        case .to(var next):
            record += 1
            next.record = 0
            if next.isAssigned, next.began == nil { next.began = .init(record: 0, sequence: 1) }
            customers[index].assignment = next.durable(as: record)
        case .unchanged: break
        case .refused(let refusal): faults.append("\(change): \(refusal)")
        }
    }

    private mutating func arrive() {
        for index in customers.indices
        where customers[index].arrives <= now && customers[index].servedBy == nil
            && customers[index].assignment.state == .handler
        {
            change(index, .handOff(reason: "asked"))
        }
    }

    private mutating func takeSteps() {
        for index in customers.indices where customers[index].assignment.isAssigned {
            let steps = AssignmentDeadlines(people: people).steps(for: customers[index].assignment, at: now)
            for step in steps {
                switch step {
                case .chooseQueue: change(index, .place(people.route(customers[index].facts, at: now)))
                case .overflow(let placement):
                    overflows += 1
                    change(index, .place(placement))
                case .waitAgain(let since):
                    silences += 1
                    change(index, .silence(since: since))
                case .sayUnclaimedText, .sayTransferText:
                    if !isOpen { faults.append("\(step) while it is closed") }
                    customers[index].texts.append(step)
                case .sayText, .sayOverdue: customers[index].texts.append(step)
                case .endSnooze: change(index, .snooze(until: nil))
                case .returnToHandler: faults.append("a conversation returned to its handler")
                }
            }
        }
    }

    /// The waiting conversations in their order.
    private func waiting() -> [Int] {
        customers.indices.filter {
            customers[$0].assignment.state == .waiting
                && people.priority(of: customers[$0].assignment, for: nil) != nil
        }
        .sorted { rank($0) < rank($1) }
    }

    private func rank(_ index: Int) -> WaitingRank {
        let assignment = customers[index].assignment
        return WaitingRank(
            priority: people.priority(of: assignment, for: nil) ?? 0,
            since: assignment.since?.milliseconds ?? 0, record: assignment.stateRecord)
    }

    private mutating func offer() {
        guard isOpen else { return }
        var offering = Offering(
            people, available: Array(persons.prefix(8)), customers.map(\.assignment).filter(\.isAssigned),
            at: now)
        for index in waiting() {
            guard let offer = offering.next(for: customers[index].assignment) else { continue }
            change(index, .offer(offer))
        }
    }

    /// Most offers are accepted, some are declined, and some are ignored.
    private mutating func accept() {
        for index in customers.indices {
            guard customers[index].assignment.state == .waiting,
                let person = customers[index].assignment.offer?.person(at: now)
            else { continue }
            switch Int.random(in: 0..<10, using: &generator) {
            case 0: change(index, .decline(person))
            case 1...3: ignored += 1
            default: claim(index, person)
            }
        }
    }

    private mutating func takeNext() {
        guard isOpen else { return }
        for person in persons.suffix(4) where Int.random(in: 0..<4, using: &generator) == 0 {
            let held = self.held(by: person)
            let meant = waiting().filter {
                people.priority(of: customers[$0].assignment, for: person, held: held, at: now) != nil
            }
            guard held.values.reduce(0, +) == 0, let next = meant.first else { continue }
            if meant.contains(where: { rank($0) < rank(next) }) {
                faults.append("a conversation was taken out of order")
            }
            claim(next, person)
        }
    }

    private func held(by person: Person) -> [String?: Int] {
        var held: [String?: Int] = [:]
        for customer in customers where customer.assignment.person?.id == person.id {
            held[customer.assignment.placement?.queue, default: 0] += 1
        }
        return held
    }

    private mutating func claim(_ index: Int, _ person: Person) {
        let queue = people.queue(of: customers[index].assignment)
        if queue?.persons?.contains(person.id) == false { faults.append("\(person) is not of the queue") }
        change(index, .claim(person))
        // One in twelve people forgets the customer.
        let forgets = Int.random(in: 0..<12, using: &generator) == 0
        let minutes = Int.random(in: 1..<6, using: &generator)
        customers[index].answersAt = forgets ? nil : now.advanced(by: .seconds(60 * minutes))
    }

    private mutating func answer() {
        for index in customers.indices where customers[index].assignment.state == .person {
            guard let time = customers[index].answersAt, time <= now else { continue }
            if Int.random(in: 0..<15, using: &generator) == 0 {
                transfers += 1
                change(
                    index, .releaseToWaiting(note: nil, Placement(queue: "general", rule: Placement.transfer))
                )
            } else {
                customers[index].servedBy = customers[index].assignment.person?.id
                change(index, .releaseToHandler())
            }
        }
    }

    private mutating func check() {
        var offered: Set<String> = []
        for customer in customers {
            let assignment = customer.assignment
            if assignment.state == .person, assignment.person == nil {
                faults.append("a held conversation has no person")
            }
            if assignment.state != .person, assignment.person != nil {
                faults.append("a waiting conversation has a person")
            }
            if assignment.state == .waiting, people.priority(of: assignment, for: nil) == nil {
                faults.append("a waiting conversation is in no list")
            }
            if let person = assignment.offer?.person(at: now), !offered.insert(person.id).inserted {
                faults.append("\(person) has two offers")
            }
        }
        for person in persons {
            let held = held(by: person)
            for queue in people.queues where held[queue.id, default: 0] > (queue.capacity ?? .max) {
                faults.append("\(person) has too many of \(queue.id)")
            }
        }
    }
}
