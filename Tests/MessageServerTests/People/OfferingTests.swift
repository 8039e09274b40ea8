import BalloonPOSIX
import BusinessMessages
import HandlerKit
import MessageStore
import ServerTestSupport
import TestSupport
import Testing

@testable import MessageServer
@testable import MessageStore

/// To whom waiting conversations are offered, and who is available.
@Suite struct OfferingTests {
    private static let now = Timestamp(milliseconds: 1_800_000_000_000)
    private static func at(_ seconds: Int) -> Timestamp { now.advanced(by: .seconds(seconds)) }
    private static func person(_ id: String) -> Person {
        Person(id: id) ?? { fatalError("an invalid identifier in a test") }()
    }
    private static let people = {
        var people = PeopleConfiguration(text: "Soon.")
        people.queues = [QueueConfiguration(id: "general"), QueueConfiguration(id: "returns")]
        people.queues[0].acceptTime = .seconds(60)
        people.queues[1].acceptTime = .seconds(30)
        people.queues[1].persons = ["ana", "ben"]
        people.queues[1].capacity = 1
        return people
    }()

    private static func waiting(_ queue: String, _ offer: Offer? = nil, prefers: String? = nil) -> Assignment
    {
        var waiting = Assignment(state: .waiting, record: 1)
        waiting.placement = Placement(queue: queue, person: prefers, rule: "default")
        waiting.offer = offer
        return waiting
    }

    private static func held(_ id: String, _ queue: String) -> Assignment {
        var held = Assignment(state: .person, record: 1)
        held.person = person(id)
        held.placement = Placement(queue: queue, rule: "default")
        return held
    }

    struct Row: CustomTestStringConvertible {
        let name: String
        let waiting: Assignment
        var others: [Assignment] = []
        var available = ["ana", "ben", "cy"]
        let expected: String?
        var testDescription: String { name }
    }

    @Test(arguments: [
        Row(name: "the first of equals", waiting: waiting("general"), expected: "ana"),
        Row(
            name: "the least busy", waiting: waiting("general"),
            others: [held("ana", "general"), held("ben", "returns"), held("ana", "returns")], expected: "cy"),
        Row(name: "only persons of the queue", waiting: waiting("returns"), available: ["cy"], expected: nil),
        Row(
            name: "only persons with room", waiting: waiting("returns"),
            others: [held("ana", "returns"), held("ben", "general"), held("ben", "general")], expected: "ben"),
        Row(
            name: "a person gets no second offer",
            waiting: waiting("general", Offer(to: person("ben"), until: at(-1), after: ["ana"])),
            expected: "cy"),
        Row(
            name: "no offer after every person was asked",
            waiting: waiting("returns", Offer(to: person("ben"), until: at(0), after: ["ana"])),
            expected: nil),
        Row(
            name: "not while an offer is open",
            waiting: waiting("general", Offer(to: person("ana"), until: at(1))), expected: nil),
        Row(
            name: "not to a person with an open offer", waiting: waiting("general"),
            others: [waiting("general", Offer(to: person("ana"), until: at(1)))], expected: "ben"),
        Row(
            name: "the person who answered before", waiting: waiting("general", prefers: "cy"),
            others: [held("cy", "general")], expected: "cy"),
        Row(name: "an unknown queue is the first one", waiting: waiting("none"), expected: "ana"),
        Row(
            name: "no offer before the rules", waiting: Assignment(state: .waiting, record: 1), expected: nil),
    ])
    func `an offer goes to the least busy person who may accept it`(row: Row) {
        var offering = Offering(
            Self.people, available: row.available.map(Self.person), [row.waiting] + row.others, at: Self.now)
        #expect(offering.next(for: row.waiting)?.person?.id == row.expected)
    }

    @Test func `two conversations are offered to two persons, for the time of their queue`() {
        var offering = Offering(
            Self.people, available: ["ana", "ben"].map(Self.person), [], at: Self.now)
        let offers = (0..<3).map { _ in offering.next(for: Self.waiting("general")) }
        #expect(offers.map { $0?.person?.id } == ["ana", "ben", nil])
        #expect(offers[0]?.until == Self.at(60))
    }

    @Test func `a report counts for 90 seconds, and a missed offer makes a person away`() {
        let (availability, business, ana) = (Availability(), BusinessID("b"), Self.person("ana"))
        func state(_ seconds: Int) -> Availability.State? {
            availability.persons(of: business, at: Self.at(seconds)).first?.state
        }
        #expect(availability.report(ana, nil, in: business, at: Self.now) == .gone)
        #expect(state(0) == nil)
        #expect(availability.report(ana, .available, in: business, at: Self.now) == .available)
        #expect(state(89) == .available && state(90) == nil)
        #expect(availability.report(ana, nil, in: business, at: Self.at(60)) == .available)
        #expect(state(149) == .available)
        availability.missed(ana, until: Self.now, in: business)
        #expect(state(100) == .available)
        availability.missed(ana, until: Self.at(61), in: business)
        #expect(state(100) == .away)
        #expect(availability.report(ana, nil, in: business, at: Self.at(100)) == .away)
        #expect(availability.report(ana, .available, in: business, at: Self.at(101)) == .available)
        availability.missed(ana, until: Self.at(61), in: business)
        #expect(state(110) == .available)
        #expect(availability.report(ana, .gone, in: business, at: Self.at(120)) == .gone)
        #expect(state(120) == nil && availability.persons(of: BusinessID("x")).isEmpty)
    }

    @Test func `the watch offers a conversation to one person after the other`() async throws {
        let test = try await PipelineUnderTest(RecordingHandler(), people: Self.people)
        let (business, customer) = (ServerUnderTest.business, CustomerID("c"))
        let begin = Timestamp.now()
        for id in ["ana", "ben"] {
            _ = test.watch.availability.report(Self.person(id), .available, in: business, at: begin)
        }
        _ = try await test.store.assign(.handOff(reason: nil), business, customer)
        func look(_ seconds: Int) async -> Offer? {
            await test.watch.look(at: begin.advanced(by: .seconds(seconds)))
            return test.store.assignment(of: business, customer).offer
        }
        let first = try #require(await look(0))
        #expect(first.person?.id == "ana" && first.until == begin.advanced(by: .seconds(60)))
        #expect(await look(59) == first)
        let second = try #require(await look(60))
        #expect(second.person?.id == "ben" && second.asked == ["ana", "ben"])
        #expect(
            test.watch.availability.persons(of: business, at: begin.advanced(by: .seconds(60))).map(\.state)
                == [.away, .available])
        _ = try await test.store.assign(.decline(Self.person("ben")), business, customer)
        #expect(await look(62)?.person == nil)
        let claimed = try await test.store.assign(.claim(Self.person("cy")), business, customer)
        #expect(claimed.offer == nil && claimed.person?.id == "cy")
        await test.stop(test.run())
    }
}
