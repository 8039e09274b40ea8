import BalloonPOSIX
import BusinessMessages
import GatewayClient
import MessageStore
import Testing

@testable import MessageServer

@Suite final class GatewayHealthTests {
    private var health = GatewayHealth()
    private var now = Timestamp(milliseconds: 1_000_000)
    private var isOnlyBusiness = false
    private let refused = SendDecision.credentialRefused(status: 403, reason: "no")
    private let accepted = SendDecision.accepted(status: 200)
    private let outage = SendDecision.wait(reason: "503", atLeast: nil, isOutage: true)

    private func attempt(
        _ record: UInt64, _ business: String, _ customer: String, probe: GatewayHealth.Probe? = nil
    ) -> GatewayHealth.Attempt {
        GatewayHealth.Attempt(
            id: ReplyID(record: record, index: 0), business: BusinessID(business),
            customer: CustomerID(customer), begunAt: now, probe: probe)
    }

    private func pass(_ seconds: Int) { now = now.advanced(by: .seconds(seconds)) }

    private func next() -> GatewayHealth.Lease? { health.next(at: now) }

    /// Leases according to `next`, and ends the attempt with `answer`.
    @discardableResult
    private func answer(
        _ record: UInt64, _ business: String, _ customer: String, _ answer: SendDecision?
    ) -> [GatewayHealth.Action] {
        guard let lease = next() else {
            Issue.record("nothing is leased")
            return []
        }
        health.begin(lease.probe)
        let attempt = attempt(record, business, customer, probe: lease.probe)
        return health.decide(attempt, answer, isOnlyBusiness: isOnlyBusiness, at: now)
    }

    /// Ends an attempt that was in flight, and is no probe.
    @discardableResult
    private func late(_ attempt: GatewayHealth.Attempt, _ answer: SendDecision?) -> [GatewayHealth.Action] {
        health.decide(attempt, answer, isOnlyBusiness: isOnlyBusiness, at: now)
    }

    private func foundNothing() {
        guard let probe = next()?.probe else {
            Issue.record("no probe")
            return
        }
        health.foundNothing(for: probe, at: now)
    }

    private var paused: [BusinessID?] { health.pauses.map(\.business) }
    private let everything = GatewayHealth.Lease(.any(), nil)

    @Test func `one refused reply pauses nothing, and its cause is unknown`() {
        #expect(answer(1, "a", "x", refused) == [])
        #expect(next() == everything)
        #expect(health.pauses.isEmpty)
        #expect(health.unexplained(at: now) == .init(count: 1, status: 403))
        // Two minutes later the reply has ended, because it is tried every half minute.
        pass(121)
        #expect(health.unexplained(at: now) == nil)
    }

    @Test func `a reply with a 403 before and after another's acceptance is refused`() {
        answer(1, "a", "x", refused)
        pass(1)
        #expect(answer(2, "a", "y", accepted) == [])
        pass(1)
        #expect(answer(1, "a", "x", refused) == [.refuse])
        #expect(next() == everything)
        #expect(health.unexplained(at: now) == nil)
    }

    /// An example is a clock that jumped ahead, and was corrected before the next attempt.
    @Test func `a reply whose 403 concerned a credential that was repaired meanwhile is sent`() {
        answer(1, "a", "x", refused)
        answer(2, "a", "y", accepted)
        #expect(answer(1, "a", "x", accepted) == [])
        #expect(health.unexplained(at: now) == nil)
    }

    @Test
    func
        `an acceptance is no evidence about a reply of another business, of its own conversation or before it`()
    {
        answer(1, "a", "x", refused)
        pass(1)
        answer(2, "b", "y", accepted)
        #expect(answer(1, "a", "x", refused) == [])
        answer(3, "a", "x", accepted)
        #expect(answer(1, "a", "x", refused) == [])
        let early = attempt(4, "a", "z")
        pass(1)
        #expect(answer(1, "a", "x", refused) == [])
        late(early, accepted)
        #expect(answer(1, "a", "x", refused) == [])
    }

    @Test func `an acceptance is no evidence after a minute`() {
        answer(1, "a", "x", refused)
        answer(2, "a", "y", accepted)
        pass(61)
        #expect(answer(1, "a", "x", refused) == [])
    }

    @Test func `refusals in two conversations pause their business, for an unknown cause`() {
        answer(1, "a", "x", refused)
        answer(1, "a", "x", refused)
        #expect(paused.isEmpty)
        answer(2, "a", "y", refused)
        #expect(paused == [BusinessID("a")])
        #expect(health.pauses.map(\.isExplained) == [false])
        // Replies of other businesses are sent, and this business is probed a second later.
        #expect(next() == .init(.any(excludingBusinesses: [BusinessID("a")]), nil))
        answer(3, "b", "z", accepted)
        #expect(health.pauses.map(\.isExplained) == [true])
        pass(1)
        #expect(next() == .init(.probe(of: BusinessID("a")), .business(BusinessID("a"))))
        #expect(answer(1, "a", "x", accepted) == [.resumed(BusinessID("a"), isAnnounced: false)])
        #expect(next() == everything)
    }

    @Test func `refusals in two businesses pause everything`() {
        answer(1, "a", "x", refused)
        answer(2, "b", "y", refused)
        #expect(paused == [nil])
        #expect(health.pauses.first?.cause == .refused(status: 403, reason: "no"))
        #expect(health.pauses.first?.isCredentialRefused == true)
        #expect(next() == nil)
        pass(1)
        #expect(next() == .init(.probe(of: nil), .everything))
        #expect(answer(1, "a", "x", accepted) == [.resumed(nil, isAnnounced: false)])
    }

    @Test func `refusals in two conversations of the only business pause everything`() {
        isOnlyBusiness = true
        answer(1, "a", "x", refused)
        #expect(paused.isEmpty)
        answer(2, "a", "y", refused)
        #expect(paused == [nil])
    }

    @Test(arguments: [1, 59]) func `an acceptance within a minute prevents every pause`(seconds: Int) {
        answer(1, "a", "w", accepted)
        pass(seconds)
        answer(2, "a", "x", refused)
        answer(3, "a", "y", refused)
        answer(4, "b", "z", refused)
        #expect(paused.isEmpty)
        pass(60 - seconds)
        answer(2, "a", "x", refused)
        #expect(paused.isEmpty)
        pass(1)
        answer(4, "b", "z", refused)
        #expect(paused == [nil])
    }

    @Test func `an acceptance between two refusals prevents a pause of everything, and not of the business`()
    {
        answer(1, "a", "x", refused)
        answer(2, "a", "y", outage)
        answer(3, "b", "z", accepted)
        pass(61)
        answer(4, "b", "v", refused)
        #expect(paused.isEmpty)
        answer(5, "a", "y", refused)
        // Both businesses were refused after the acceptance.
        #expect(paused == [nil])
    }

    @Test func `a business that is refused beside an accepted one is paused alone`() {
        for record in 1...20 {
            answer(UInt64(record), "b", "z", accepted)
            answer(UInt64(100 + record), "a", "x\(record % 2)", refused)
            pass(30)
            #expect(paused != [nil])
        }
        #expect(paused == [BusinessID("a")])
        #expect(health.pauses.map(\.isExplained) == [true])
    }

    @Test func `a paused business becomes a part of the pause of everything`() {
        answer(1, "a", "x", refused)
        answer(2, "a", "y", refused)
        #expect(paused == [BusinessID("a")])
        answer(3, "b", "z", refused)
        #expect(paused == [nil])
        pass(1)
        // The probe may be a reply of any business.
        #expect(next() == .init(.probe(of: nil), .everything))
    }

    @Test func `a paused gateway is probed with growing pauses up to a minute`() {
        answer(1, "a", "x", refused)
        answer(2, "b", "y", refused)
        var waits: [Int] = []
        for record in 3...11 {
            var waited = 0
            while next() == nil {
                pass(1)
                waited += 1
            }
            waits.append(waited)
            #expect(answer(UInt64(record), "a", "x\(record)", refused) == [])
        }
        #expect(waits == [1, 2, 4, 8, 16, 32, 60, 60, 60])
        pass(60)
        #expect(answer(99, "b", "y", accepted) == [.resumed(nil, isAnnounced: false)])
        #expect(next() == everything)
    }

    @Test func `a paused gateway gets one attempt at a time`() {
        answer(1, "a", "x", refused)
        answer(2, "b", "y", refused)
        pass(1)
        health.begin(.everything)
        pass(120)
        #expect(next() == nil)
    }

    @Test func `replies refused during a pause stay queued when the credential works again`() {
        answer(1, "a", "x", refused)
        answer(2, "b", "y", refused)
        pass(3600)
        #expect(answer(4, "a", "w", accepted) == [.resumed(nil, isAnnounced: false)])
        #expect(answer(1, "a", "x", accepted) == [])
        #expect(answer(2, "b", "y", accepted) == [])
    }

    @Test func `twenty failures in a row of two businesses pause everything`() {
        for record in 1...19 { answer(UInt64(record), record.isMultiple(of: 2) ? "a" : "b", "x", outage) }
        #expect(paused.isEmpty)
        answer(20, "a", "x", outage)
        #expect(health.pauses.map(\.cause) == [.outage(reason: "503")])
        #expect(paused == [nil])
        pass(1)
        #expect(next() == .init(.probe(of: nil), .everything))
        #expect(
            answer(21, "a", "y", .refused(status: 400, reason: "no")) == [.resumed(nil, isAnnounced: false)])
    }

    @Test(arguments: [true, false])
    func `twenty failures in a row of two conversations pause their business, or everything when it is alone`(
        isOnlyBusiness: Bool
    ) {
        self.isOnlyBusiness = isOnlyBusiness
        for record in 1...20 { answer(UInt64(record), "a", "x\(record % 2)", outage) }
        #expect(paused == [isOnlyBusiness ? nil : BusinessID("a")])
    }

    @Test func `an answer between failures resets the count`() {
        for record in 1...19 { answer(UInt64(record), "a", "x\(record)", outage) }
        answer(20, "a", "y", accepted)
        for record in 21...39 { answer(UInt64(record), "a", "x\(record)", outage) }
        #expect(paused.isEmpty)
    }

    @Test func `failures of one conversation alone pause nothing`() {
        for record in 1...100 { answer(UInt64(record), "a", "x", outage) }
        #expect(paused.isEmpty)
    }

    @Test func `a paused gateway is not probed before Retry-After, up to a minute`() {
        isOnlyBusiness = true
        for record in 1...20 { answer(UInt64(record), "a", "x\(record)", outage) }
        pass(1)
        answer(21, "a", "y", .wait(reason: "429", atLeast: .seconds(3600), isOutage: true))
        pass(59)
        #expect(next() == nil)
        pass(1)
        #expect(next() != nil)
    }

    @Test func `a pause is reported at once and then once a minute`() {
        answer(1, "a", "x", refused)
        answer(2, "b", "y", refused)
        func reports() -> Int { health.reports(at: now).count }
        #expect(reports() == 1)
        #expect(reports() == 0)
        pass(59)
        #expect(reports() == 0)
        pass(1)
        #expect(reports() == 1)
        #expect(health.nextLook == now.advanced(by: .seconds(-59)))
    }

    @Test func `pauses that begin and end within a minute are reported once, and so are their ends`() {
        isOnlyBusiness = true
        var lines: [String] = []
        for second in 0..<60 {
            for record in 1...20 { late(attempt(UInt64(record), "a", "x\(record)"), outage) }
            lines += health.reports(at: now).map { _ in "paused at \(second)" }
            pass(1)
            for case .resumed(_, isAnnounced: true) in answer(21, "a", "y", accepted) {
                lines.append("resumed at \(second)")
            }
        }
        #expect(lines == ["paused at 0", "resumed at 0"])
    }

    /// The attempts that show nothing about the gateway: for example, a file was not uploaded.
    private static let unsent: [SendDecision?] = [
        nil, .interrupted, .refused(status: nil, reason: "no file"),
        .wait(reason: "no file", atLeast: nil, isOutage: false),
    ]

    @Test(arguments: unsent)
    func `the gateway is probed with another reply at once when a probe could not be sent`(
        decision: SendDecision?
    ) {
        answer(1, "a", "x", refused)
        answer(2, "b", "y", refused)
        pass(1)
        #expect(answer(3, "a", "y", decision) == [])
        #expect(next()?.probe == .everything)
    }

    @Test func `a paused gateway with an empty outbox is not probed endlessly`() {
        answer(1, "a", "x", refused)
        answer(2, "b", "y", refused)
        pass(1)
        foundNothing()
        #expect(next() == nil)
        pass(60)
        #expect(next()?.probe == .everything)
    }

    @Test func `a paused business with an empty outbox is not probed endlessly`() {
        answer(1, "a", "x", refused)
        answer(2, "a", "y", refused)
        pass(1)
        foundNothing()
        #expect(next() == .init(.any(excludingBusinesses: [BusinessID("a")]), nil))
    }

    @Test func `refusals of one business leave room to remember those of another`() {
        answer(1, "b", "y", accepted)
        for record in 2...1000 { late(attempt(UInt64(record), "a", "x\(record)"), refused) }
        late(attempt(2001, "b", "x"), refused)
        pass(1)
        late(attempt(2002, "b", "y"), accepted)
        #expect(late(attempt(2001, "b", "x"), refused) == [.refuse])
    }
}
