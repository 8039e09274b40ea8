import BalloonJSON
import BalloonPOSIX
import BusinessMessages
import TestSupport
import Testing

@testable import MessageStore

/// The order of waiting conversations, and the claim of the next one.
@Suite struct WaitingTests {
    private let directory = StoreDirectory()
    private let ana = person("ana")
    private let everything: Store.Priority = { waiting, _ in waiting.placement?.priority ?? 0 }

    /// Hands `count` conversations off; each third one gets a priority.
    private func wait(_ count: Int, in store: Store) async throws {
        for number in 0..<count {
            let customer = CustomerID("c\(number)")
            _ = try await store.assign(.handOff(reason: nil), business, customer)
            guard number % 3 == 0 else { continue }
            let place = Placement(queue: "vip", priority: number % 9, rule: "default")
            _ = try await store.assign(.place(place), business, customer)
        }
    }

    private func names(_ page: (conversations: [Store.AssignedConversation], next: WaitingRank?)) -> [String]
    {
        page.conversations.map(\.customer.rawValue)
    }

    @Test func `the higher priority is first, then the longer wait, page by page and after a restart`()
        async throws
    {
        var store = try directory.open()
        try await wait(12, in: store)
        let expected = ["c6", "c3", "c0", "c1", "c2", "c4", "c5", "c7", "c8", "c9", "c10", "c11"]
        for _ in 1...2 {
            #expect(names(store.waitingConversations(of: business, priority: everything)) == expected)
            var (found, next): ([String], WaitingRank?) = ([], nil)
            repeat {
                let page = store.waitingConversations(
                    of: business, after: next, limit: 5, priority: everything)
                found += names(page)
                next = page.next.flatMap { WaitingRank($0.text) }
            } while next != nil
            #expect(found == expected)
            #expect(
                store.waitingConversations(of: BusinessID("x"), priority: everything).conversations.isEmpty)
            await store.close()
            store = try directory.open()
        }
        await store.close()
        for text in ["", "1.2", "a.2.3", "1.2.3.4"] { #expect(WaitingRank(text) == nil) }
    }

    @Test func `a place in a queue survives a kill, with and without a snapshot`() async throws {
        let store = try directory.open()
        try await wait(1, in: store)
        let placed = store.assignment(of: business, CustomerID("c0"))
        #expect(placed.placement?.queue == "vip" && placed.stateRecord < placed.record)
        let copy = try directory.copy().open()
        #expect(copy.assignment(of: business, CustomerID("c0")) == placed)
        await copy.close()
        await store.close()
        let reopened = try directory.open()
        #expect(reopened.assignment(of: business, CustomerID("c0")) == placed)
        await reopened.close()
    }

    @Test func `an offer and a snooze survive a restart, and a customer's message ends the snooze`()
        async throws
    {
        var store = try directory.open()
        let until = Timestamp(milliseconds: 4_000_000_000_000)
        _ = try await store.assign(.handOff(reason: nil), business, customer)
        let offered = try await store.assign(
            .offer(Offer(to: ana, until: until, after: ["ben"])), business, customer)
        for keepsSnapshot in [true, false] {
            await store.close()
            if !keepsSnapshot { try Directory.remove(directory.path + "/snapshot") }
            store = try directory.open()
            #expect(store.assignment(of: business, customer) == offered)
        }
        _ = try await store.assign(.claim(ana), business, customer)
        let snoozed = try await store.assign(.snooze(until: until), business, customer)
        await store.close()
        store = try directory.open()
        #expect(store.assignment(of: business, customer) == snoozed)
        _ = await store.append(message("m1"))
        let awake = store.assignment(of: business, customer)
        #expect(awake.snoozedUntil == nil && awake.person == ana && awake.began == snoozed.began)
        await store.close()
        try Directory.remove(directory.path + "/snapshot")
        store = try directory.open()
        #expect(store.assignment(of: business, customer) == awake)
        await store.close()
    }

    @Test func `a customer is unanswered from the wait, or from a message, until a person writes`()
        async throws
    {
        var store = try directory.open()
        func unanswered() -> Assignment.Unanswered? { store.assignment(of: business, customer).unanswered }
        func write(_ id: String, _ person: Person?) async throws {
            let sent = ReceivedMessage(
                business: business, customer: customer, id: MessageID(id), message: Array("{}".utf8),
                outboundKind: .text, author: .person(person))
            _ = try await store.send(sent)
        }
        let waiting = try await store.assign(.handOff(reason: nil), business, customer)
        #expect(unanswered() == nil)
        let place = Placement(queue: "a", rule: "default")
        _ = try await store.assign(.place(place), business, customer)
        #expect(unanswered() == .init(since: try #require(waiting.since), isFirst: true))
        _ = await store.append(message("m1"))
        _ = try await store.assign(.claim(ana), business, customer)
        #expect(unanswered()?.isFirst == true)
        try await write("a1", ana)
        #expect(unanswered() == nil)
        _ = await store.append(message("m2"))
        let open = try #require(unanswered())
        #expect(!open.isFirst)
        for keepsSnapshot in [true, false] {
            await store.close()
            if !keepsSnapshot { try Directory.remove(directory.path + "/snapshot") }
            store = try directory.open()
            #expect(unanswered() == open)
        }
        _ = try await store.assign(.releaseToWaiting(), business, customer)
        #expect(unanswered() == open)
        try await write("b1", person("ben"))
        #expect(unanswered() == nil && store.assignment(of: business, customer).person?.id == "ben")
        _ = await store.append(message("m3"))
        _ = try await store.assign(.releaseToHandler(), business, customer)
        #expect(unanswered() == nil)
        await store.close()
    }

    @Test func `of a thousand claims of the next one each gets another conversation, in order`() async throws
    {
        let store = try directory.open()
        try await wait(300, in: store)
        let order = names(store.waitingConversations(of: business, priority: everything))
        let taken = try await withThrowingTaskGroup(of: Store.AssignedConversation?.self) { group in
            for number in 0..<1000 {
                group.addTask {
                    try await store.claimNext(
                        of: business, for: person("p\(number)"), priority: everything)
                }
            }
            return try await group.reduce(into: [Store.AssignedConversation?]()) { $0.append($1) }
        }
        let claims = taken.compactMap { $0 }
        #expect(taken.count == 1000 && claims.count == 300)
        #expect(Set(claims.map(\.customer)).count == 300)
        #expect(Set(claims.compactMap(\.assignment.person)).count == 300)
        // The journal has the claims in the order of the queue.
        let claimed = claims.sorted { $0.assignment.record < $1.assignment.record }.map(\.customer.rawValue)
        #expect(claimed == order)
        #expect(store.assignedCounts(of: business) == (waiting: 0, person: 300))
        await store.close()
    }

    @Test func `a claim of the next one waits for a change in flight, and skips what is not meant`()
        async throws
    {
        let store = try directory.open()
        try await wait(2, in: store)
        async let placed = store.assign(
            .place(Placement(queue: "a", priority: 9)), business, CustomerID("c1"))
        async let first = store.claimNext(of: business, for: ana, priority: everything)
        async let second = store.claimNext(of: business, for: ana, priority: everything)
        _ = try? await placed
        #expect(try await Set([first?.customer.rawValue, second?.customer.rawValue]) == ["c0", "c1"])
        let held = try await store.claimNext(of: business, for: ana) { _, held in
            held.values.reduce(0, +) < 2 ? 0 : nil
        }
        #expect(held == nil)
        _ = try await store.assign(.handOff(reason: nil), business, CustomerID("c9"))
        #expect(
            try await store.claimNext(of: business, for: ana) { _, held in held.isEmpty ? 0 : nil } == nil)
        #expect(
            try await store.claimNext(of: business, for: person("ben")) { _, held in held.isEmpty ? 0 : nil }
                != nil)
        await store.close()
    }

    /// Each claim is in flight while the next one chooses; a conversation that is offered counts, too.
    @Test(arguments: [false, true])
    func `many claims of one person at once keep the number that the person may have`(isOffered: Bool)
        async throws
    {
        let store = try directory.open()
        try await wait(20, in: store)
        if isOffered {
            let offer = Offer(to: ana, until: Timestamp.now().advanced(by: .seconds(60)), after: [])
            _ = try await store.assign(.offer(offer), business, CustomerID("c19"))
        }
        let taken = try await withThrowingTaskGroup(of: Store.AssignedConversation?.self) { group in
            for _ in 0..<20 {
                group.addTask { [ana] in
                    try await store.claimNext(of: business, for: ana) { waiting, held in
                        waiting.offer == nil && held.values.reduce(0, +) < 3 ? 0 : nil
                    }
                }
            }
            return try await group.reduce(into: [Store.AssignedConversation?]()) { $0.append($1) }
        }
        #expect(taken.count { $0 != nil } == (isOffered ? 2 : 3))
        await store.close()
    }

    @Test func `a failed sync claims nothing`() async throws {
        let disk = FaultyDisk()
        let store = try directory.open { $0.disk = disk }
        try await wait(1, in: store)
        disk.fail(.synchronize)
        await #expect(throws: StoreError.self) {
            try await store.claimNext(of: business, for: ana, priority: everything)
        }
        disk.recover()
        #expect(
            try await store.claimNext(of: business, for: ana, priority: everything)?.assignment.person == ana)
        await store.close()
    }
}
