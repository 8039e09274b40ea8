import BalloonPOSIX
import BusinessMessages
import MessageStore
import Testing

@testable import MessageServer

@Suite final class GatewayHealthTests {
    private var health = GatewayHealth()
    private var now = Timestamp(milliseconds: 1_000_000)
    private let refused = GatewayHealth.Answer.credentialRefused(status: 403, reason: "no")
    private let outage = GatewayHealth.Answer.outage(reason: "503", retryAfter: nil)

    private func attempt(
        _ record: UInt64, _ business: String, _ customer: String, probe: GatewayHealth.Probe? = nil
    ) -> GatewayHealth.Attempt {
        GatewayHealth.Attempt(
            id: ReplyID(record: record, index: 0), business: BusinessID(business),
            customer: CustomerID(customer), begunAt: now, probe: probe)
    }

    private func pass(_ seconds: Int) { now = now.advanced(by: .seconds(seconds)) }

    private func next() -> GatewayHealth.Next { health.next(at: now) }

    /// Leases according to `next`, and ends the attempt with `answer`.
    private func answer(
        _ record: UInt64, _ business: String, _ customer: String, _ answer: GatewayHealth.Answer
    ) -> [GatewayHealth.Action] {
        guard case .lease(_, let probe) = next() else {
            Issue.record("nothing is leased")
            return []
        }
        health.begin(probe)
        return health.decide(attempt(record, business, customer, probe: probe), answer, at: now)
    }

    private func id(_ record: UInt64) -> ReplyID { ReplyID(record: record, index: 0) }

    private func foundNothing() -> [GatewayHealth.Action] {
        guard case .lease(_, .some(let probe)) = next() else {
            Issue.record("no probe")
            return []
        }
        return health.foundNothing(for: probe, at: now)
    }

    @Test func `a 403 concerns the message when another conversation of the business is accepted`() {
        #expect(answer(1, "a", "x", refused) == [.hold(id(1))])
        #expect(
            next()
                == .lease(
                    .anotherConversation(of: BusinessID("a"), than: CustomerID("x")), probe: .question))
        #expect(answer(2, "a", "y", .accepted) == [.release(id(1))])
        #expect(answer(1, "a", "x", refused) == [.refuse(id(1), status: 403, reason: "no")])
        #expect(next() == .lease(.any(), probe: nil))
        #expect(health.pauses.isEmpty)
    }

    /// An example is a clock that jumped ahead, and was corrected before the probe.
    @Test func `a reply whose 403 concerned a credential that was repaired before the probe is sent`() {
        #expect(answer(1, "a", "x", refused) == [.hold(id(1))])
        #expect(answer(2, "a", "y", .accepted) == [.release(id(1))])
        #expect(answer(1, "a", "x", .accepted) == [])
        #expect(next() == .lease(.any(), probe: nil))
    }

    @Test func `a 403 concerns the business when only another business is accepted`() {
        _ = answer(1, "a", "x", refused)
        #expect(answer(2, "a", "y", refused) == [.release(id(2))])
        #expect(next() == .lease(.anotherBusiness(than: [BusinessID("a")]), probe: .question))
        #expect(answer(3, "b", "z", .accepted) == [.release(id(1))])
        #expect(health.pauses.map(\.business) == [BusinessID("a")])
        // Replies of other businesses are sent, and this business is probed a second later.
        #expect(next() == .lease(.any(excludingBusinesses: [BusinessID("a")]), probe: nil))
        pass(1)
        #expect(
            next()
                == .lease(
                    .anotherConversation(of: BusinessID("a"), than: nil), probe: .business(BusinessID("a"))))
        #expect(answer(1, "a", "x", .accepted) == [.resumed(BusinessID("a"))])
        #expect(next() == .lease(.any(), probe: nil))
    }

    @Test func `a 403 concerns the credential when no other business is accepted`() {
        _ = answer(1, "a", "x", refused)
        _ = answer(2, "a", "y", refused)
        #expect(answer(3, "b", "z", refused) == [.release(id(3)), .release(id(1))])
        #expect(health.pauses.map(\.business) == [nil])
        #expect(health.pauses.first?.cause == .refused(status: 403, reason: "no"))
        #expect(next() == .wait(until: now))
    }

    @Test func `a 403 pauses all sending when no other reply exists`() {
        _ = answer(1, "a", "x", refused)
        #expect(foundNothing() == [])
        #expect(foundNothing() == [.release(id(1))])
        #expect(health.pauses.map(\.business) == [nil])
    }

    @Test func `no other reply is leased until the cause of a 403 is known`() {
        _ = answer(1, "a", "x", refused)
        health.begin(.question)
        #expect(next() == .wait(until: nil))
        // A reply that was in flight and gets the same answer is released, and does not end.
        #expect(health.decide(attempt(9, "c", "w"), refused, at: now) == [.release(id(9))])
        // The acceptance of a reply that was already in flight is no evidence.
        #expect(health.decide(attempt(8, "a", "v"), .accepted, at: now) == [])
        #expect(next() == .wait(until: nil))
    }

    @Test func `inconclusive probes are repeated at most three times`() {
        _ = answer(1, "a", "x", refused)
        for record in 2...4 { #expect(answer(UInt64(record), "a", "y\(record)", outage) == []) }
        for record in 5...6 { #expect(answer(UInt64(record), "b", "z\(record)", .unsent) == []) }
        #expect(answer(7, "b", "z", .messageRefused) == [.release(id(1))])
        #expect(health.pauses.count == 1)
    }

    @Test func `a paused gateway is probed with growing pauses up to a minute`() {
        _ = answer(1, "a", "x", refused)
        _ = foundNothing()
        _ = foundNothing()
        _ = health.reports(at: now)
        var waits: [Int] = []
        for record in 2...10 {
            var waited = 0
            while case .wait = next() {
                pass(1)
                waited += 1
            }
            waits.append(waited)
            #expect(answer(UInt64(record), "a", "x\(record)", refused) == [.release(id(UInt64(record)))])
        }
        #expect(waits == [1, 2, 4, 8, 16, 32, 60, 60, 60])
        pass(60)
        #expect(answer(99, "b", "y", .accepted) == [.resumed(nil)])
        #expect(next() == .lease(.any(), probe: nil))
    }

    @Test func `a paused gateway gets one attempt at a time`() {
        _ = answer(1, "a", "x", refused)
        _ = foundNothing()
        _ = foundNothing()
        pass(1)
        health.begin(.pause)
        pass(120)
        guard case .wait = next() else {
            Issue.record("leased")
            return
        }
    }

    @Test func `replies refused during a pause stay queued when the credential works again`() {
        _ = answer(1, "a", "x", refused)
        _ = answer(2, "a", "y", refused)
        _ = answer(3, "b", "z", refused)
        pass(3600)
        #expect(answer(4, "a", "w", .accepted) == [.resumed(nil)])
        #expect(answer(1, "a", "x", .accepted) == [])
        #expect(answer(2, "a", "y", .accepted) == [])
    }

    @Test func `a reply with a 403 before and after another's acceptance is refused without probes`() {
        _ = answer(1, "a", "x", refused)
        _ = foundNothing()
        _ = foundNothing()
        pass(1)
        #expect(answer(2, "a", "y", .accepted) == [.resumed(nil)])
        pass(1)
        #expect(answer(1, "a", "x", refused) == [.refuse(id(1), status: 403, reason: "no")])
        #expect(next() == .lease(.any(), probe: nil))
    }

    @Test func `a later reply of the same conversation is no evidence about the earlier one`() {
        _ = answer(1, "a", "x", refused)
        _ = foundNothing()
        _ = foundNothing()
        pass(1)
        _ = answer(2, "a", "x", .accepted)
        #expect(answer(1, "a", "x", refused) == [.hold(id(1))])
    }

    @Test func `twenty failures in a row over several conversations pause the gateway`() {
        for record in 1...19 { _ = answer(UInt64(record), "a", "x\(record % 2)", outage) }
        #expect(health.pauses.isEmpty)
        _ = answer(20, "a", "x", outage)
        #expect(health.pauses.map(\.cause) == [.outage(reason: "503")])
        pass(1)
        #expect(next() == .lease(.probe(excludingBusinesses: []), probe: .pause))
        #expect(answer(21, "a", "y", .messageRefused) == [.resumed(nil)])
    }

    @Test func `an answer between failures resets the count`() {
        for record in 1...19 { _ = answer(UInt64(record), "a", "x\(record)", outage) }
        _ = answer(20, "a", "y", .accepted)
        for record in 21...39 { _ = answer(UInt64(record), "a", "x\(record)", outage) }
        #expect(health.pauses.isEmpty)
    }

    @Test func `failures of one conversation alone pause nothing`() {
        for record in 1...100 { _ = answer(UInt64(record), "a", "x", outage) }
        #expect(health.pauses.isEmpty)
    }

    @Test func `a paused gateway is not probed before Retry-After, up to a minute`() {
        for record in 1...20 { _ = answer(UInt64(record), "a", "x\(record)", outage) }
        pass(1)
        _ = answer(21, "a", "y", .outage(reason: "429", retryAfter: .seconds(3600)))
        pass(59)
        guard case .wait = next() else {
            Issue.record("asked too early")
            return
        }
        pass(1)
        guard case .lease = next() else {
            Issue.record("not asked")
            return
        }
    }

    @Test func `a pause is reported at once and then once a minute`() {
        _ = answer(1, "a", "x", refused)
        _ = foundNothing()
        _ = foundNothing()
        func reports() -> Int { health.reports(at: now).count }
        #expect(reports() == 1)
        #expect(reports() == 0)
        pass(59)
        #expect(reports() == 0)
        pass(1)
        #expect(reports() == 1)
        #expect(health.nextLook == now.advanced(by: .seconds(-59)))
    }

    @Test func `the gateway is probed with another reply at once when a probe could not be sent`() {
        _ = answer(1, "a", "x", refused)
        _ = foundNothing()
        _ = foundNothing()
        pass(1)
        #expect(answer(2, "a", "y", .unsent) == [])
        guard case .lease(_, probe: .pause) = next() else {
            Issue.record("not tried")
            return
        }
    }

    @Test func `a paused gateway with an empty outbox is not probed endlessly`() {
        _ = answer(1, "a", "x", refused)
        _ = foundNothing()
        _ = foundNothing()
        pass(1)
        #expect(foundNothing() == [])
        guard case .wait = next() else {
            Issue.record("probed again at once")
            return
        }
        pass(60)
        guard case .lease(_, probe: .pause) = next() else {
            Issue.record("not probed any more")
            return
        }
    }

    @Test func `a paused business with an empty outbox is not probed endlessly`() {
        _ = answer(1, "a", "x", refused)
        _ = foundNothing()
        _ = answer(3, "b", "z", .accepted)
        pass(1)
        #expect(foundNothing() == [])
        #expect(next() == .lease(.any(excludingBusinesses: [BusinessID("a")]), probe: nil))
    }
}
