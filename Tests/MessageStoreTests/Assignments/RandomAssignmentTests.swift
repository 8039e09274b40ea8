import BalloonPOSIX
import BusinessMessages
import TestSupport
import Testing

@testable import MessageStore

/// Random changes of assignments, several at once, and messages and closes of customers, over restarts.
@Suite struct RandomAssignmentTests {
    private static let persons = (1...4).compactMap { Person(id: "p\($0)") }
    private static let customers = (1...5).map { CustomerID("c\($0)") }

    private func change(_ generator: inout SeededGenerator, at now: Timestamp) -> AssignmentChange {
        let person = Self.persons[Int.random(in: 0..<Self.persons.count, using: &generator)]
        let queue = Placement(queue: ["a", "b"].randomElement(using: &generator), rule: "test")
        switch Int.random(in: 0..<14, using: &generator) {
        case 0, 1: return .handOff(reason: "asked")
        case 2, 3: return .claim(person)
        case 4: return .claim(person, takes: true)
        case 5: return .releaseToHandler(note: "done")
        case 6: return .releaseToWaiting(note: nil, Bool.random(using: &generator) ? queue : nil)
        case 7: return .place(queue)
        case 8: return .offer(Offer(to: person, until: now.advanced(by: .seconds(60))))
        case 9: return .decline(person)
        case 10: return .silence(since: now)
        case 11: return .unclaimed
        case 12: return .releaseToWaiting(offer: Offer(to: person, until: now.advanced(by: .seconds(60))))
        default:
            return Bool.random(using: &generator) ? .close : .snooze(until: now.advanced(by: .seconds(5)))
        }
    }

    private func check(_ store: Store) -> [Assignment] {
        let all = Self.customers.map { store.assignment(of: business, $0) }
        let listed = store.waitingConversations(of: business) { _, _ in 0 }.conversations.map(\.customer)
        #expect(Set(listed).count == listed.count)
        for (customer, assignment) in zip(Self.customers, all) {
            #expect((assignment.state == .person) == (assignment.person != nil))
            #expect((assignment.state == .waiting) == listed.contains(customer))
            #expect(assignment.offer == nil || assignment.state == .waiting)
            #expect(assignment.snoozedUntil == nil || assignment.state == .person)
        }
        return all
    }

    @Test(arguments: [1, 2, 3, 4] as [UInt64])
    func `a conversation has at most one holder, a waiting one is in the list, and a restart changes nothing`(
        _ seed: UInt64
    ) async throws {
        let directory = StoreDirectory()
        var generator = SeededGenerator(seed: seed)
        var store = try directory.open()
        var seen: Set<Assignment.State> = []
        for round in 1...60 {
            let now = Timestamp.now()
            let changes = (0..<6).map { _ in
                (
                    Self.customers[Int.random(in: 0..<Self.customers.count, using: &generator)],
                    change(&generator, at: now)
                )
            }
            try await withThrowingDiscardingTaskGroup { [store] group in
                for (customer, change) in changes {
                    group.addTask {
                        // A refused change has no effect.
                        do { _ = try await store.assign(change, business, customer) } catch StoreError
                            .assignment
                        {}
                    }
                }
                for person in Self.persons {
                    group.addTask {
                        _ = try await store.claimNext(of: business, for: person) { waiting, held in
                            waiting.placement == nil || !held.isEmpty ? nil : 0
                        }
                    }
                }
            }
            if Int.random(in: 0..<3, using: &generator) == 0 {
                let customer = Self.customers[Int.random(in: 0..<Self.customers.count, using: &generator)]
                let act: ReceivedMessage.Act = Bool.random(using: &generator) ? .writes : .closes
                let message = ReceivedMessage(
                    business: business, customer: customer, id: MessageID("m\(round)"),
                    message: Array("{}".utf8), act: act)
                #expect(await store.append(message) == .stored)
            }
            let live = check(store)
            seen.formUnion(live.map(\.state))
            guard round % 10 == 0 else { continue }
            await store.close()
            store = try directory.open()
            #expect(check(store) == live)
        }
        #expect(seen == Set(Assignment.State.allCases))
        await store.close()
        #expect(try StoreVerification.run(dataDirectory: directory.path, report: { _ in }).problems == 0)
    }
}
