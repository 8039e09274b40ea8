import BalloonPOSIX
import BusinessMessages
import TestSupport
import Testing

@testable import MessageStore

@Suite struct AssignmentTests {
    private let directory = StoreDirectory()
    private let ana = person("ana", name: "Ana")
    private let ben = person("ben")

    @Test func `a claim is durable when it returns, and survives a kill`() async throws {
        let store = try directory.open()
        let claimed = try await store.assign(.claim(ana), business, customer)
        #expect(claimed.state == .person)
        #expect(claimed.person == ana)
        #expect(claimed.began == Assignment.Beginning(record: claimed.record, sequence: 1))
        #expect(store.assignment(of: business, customer) == claimed)
        #expect(store.assignedCounts(of: business) == (waiting: 0, person: 1))
        let copy = try directory.copy()
        let reopened = try copy.open()
        #expect(reopened.assignment(of: business, customer) == claimed)
        #expect(reopened.assignedConversations.map(\.assignment) == [claimed])
        await reopened.close()
        await store.close()
    }

    @Test func `the same claim by the same person succeeds without a record`() async throws {
        let store = try directory.open()
        let claimed = try await store.assign(.claim(ana), business, customer)
        #expect(try await store.assign(.claim(ana), business, customer) == claimed)
        #expect(try directory.records("assignment").count == 1)
        await #expect(throws: StoreError.assignment(.claimed(by: ana))) {
            try await store.assign(.claim(ben), business, customer)
        }
        #expect(try directory.records("assignment").count == 1)
        let taken = try await store.assign(.claim(ben, takes: true), business, customer)
        #expect(taken.person == ben)
        #expect(taken.began == claimed.began)
        await store.close()
    }

    @Test func `an outdated caller changes nothing`() async throws {
        let store = try directory.open()
        let claimed = try await store.assign(.claim(ana), business, customer)
        await #expect(throws: StoreError.assignment(.changed)) {
            try await store.assign(.close, business, customer, expecting: 0)
        }
        let closed = try await store.assign(.close, business, customer, expecting: claimed.record)
        #expect(closed.state == .closed)
        await store.close()
    }

    @Test func `of many persons at once exactly one gets the conversation`() async throws {
        let store = try directory.open()
        let claims = await withTaskGroup(of: String?.self) { group in
            for number in 0..<50 {
                group.addTask {
                    // A refusal is the other result.
                    try? await store.assign(.claim(person("p\(number)")), business, customer).person?.id
                }
            }
            return await group.reduce(into: [String]()) { if let id = $1 { $0.append(id) } }
        }
        #expect(claims.count == 1)
        #expect(store.assignment(of: business, customer).person?.id == claims.first)
        #expect(try directory.records("assignment").count == 1)
        await store.close()
    }

    @Test func `a failed sync changes nothing, and the caller gets the error`() async throws {
        let disk = FaultyDisk()
        let store = try directory.open { $0.disk = disk }
        disk.fail(.synchronize)
        await #expect(throws: StoreError.self) { try await store.assign(.claim(ana), business, customer) }
        #expect(store.assignment(of: business, customer) == .handler)
        disk.recover()
        #expect(try await store.assign(.claim(ben), business, customer).person == ben)
        await store.close()
    }

    @Test func `an outcome behind a claim is dropped, and one before it is kept`() async throws {
        let store = try directory.open()
        _ = await store.append(message("m1"))
        _ = await store.append(message("m2"))
        let first = try await store.lease()
        let outcome = DecidedOutcome(
            .handled, replies: [DecidedReply(id: MessageID("r"), kind: .text, message: Array("{}".utf8))],
            state: Array("{\"step\":1}".utf8))
        #expect(try await store.decide(first, outcome))
        _ = try await store.assign(.claim(ana), business, customer)
        try await store.finish(first, result: .handled)
        let second = try await store.lease()
        #expect(await store.isWithPerson(second))
        #expect(try await store.decide(second, outcome) == false)
        try await store.finish(second, result: .failed(reason: "too late"))
        await store.journal.flush()
        #expect(try directory.records("outcome").count == 1)
        #expect(
            try directory.records("finished").map { $0["result"]?.string } == ["handled", "withPerson"])
        let statuses = try JournalFiles(dataDirectory: directory.path).events { _ in true }.map(\.status)
        #expect(statuses == [.handled, .withPerson])
        #expect(store.queuedReplyCount == 1)
        await store.close()
    }

    @Test func `a hand-off with its replies is one record`() async throws {
        let store = try directory.open()
        _ = await store.append(message("m1"))
        let delivery = try await store.lease()
        let outcome = DecidedOutcome(
            .handedOff(reason: "asks for a person"),
            replies: [DecidedReply(id: MessageID("r"), kind: .text, message: Array("{}".utf8))],
            waitsForPerson: true)
        #expect(try await store.decide(delivery, outcome))
        let waiting = store.assignment(of: business, customer)
        #expect(waiting.state == .waiting)
        #expect(waiting.reason == "asks for a person")
        #expect(waiting.isAnnounced)
        #expect(waiting.began?.sequence == 2)
        let copy = try directory.copy()
        let reopened = try copy.open()
        #expect(reopened.assignment(of: business, customer) == waiting)
        #expect(reopened.queuedReplyCount == 1)
        let again = try await reopened.lease()
        #expect(again.decided == outcome)
        try await reopened.finish(again, result: .handedOff(reason: "asks for a person"))
        await reopened.close()
        try await store.finish(delivery, result: .handedOff(reason: "asks for a person"))
        await store.close()
        #expect(try directory.records("finished").first?["result"]?.string == "handedOff")
    }

    @Test func `the first event after a release says where the person began`() async throws {
        let store = try directory.open()
        _ = await store.append(message("m1"))
        try await store.finish(try await store.lease(), result: .handled)
        let claimed = try await store.assign(.claim(ana), business, customer)
        #expect(claimed.began?.sequence == 2)
        // It came while the person had the conversation.
        _ = await store.append(message("m2"))
        _ = try await store.assign(.releaseToHandler(note: "done"), business, customer)
        let left = try await store.lease()
        #expect(await store.isWithPerson(left))
        try await store.finish(left, result: .handled)
        _ = await store.append(message("m3"))
        _ = await store.append(message("m4"))
        let copy = try directory.copy()
        for store in [store, try copy.open()] {
            let first = try await store.lease()
            #expect(first.id == MessageID("m3"))
            #expect(!(await store.isWithPerson(first)))
            #expect(first.afterPerson == 2)
            try await store.finish(first, result: .handled)
            let second = try await store.lease()
            #expect(second.afterPerson == nil)
            try await store.finish(second, result: .handled)
            #expect(store.assignment(of: business, customer) == .handler)
            await store.close()
        }
        let last = try directory.open()
        #expect(last.assignment(of: business, customer) == .handler)
        await last.close()
    }

    @Test func `the customer's close ends the person's time, and the next message is the handler's`()
        async throws
    {
        let store = try directory.open()
        _ = try await store.assign(.claim(ana), business, customer)
        _ = await store.append(close("m1"))
        #expect(store.assignment(of: business, customer).state == .closed)
        await #expect(throws: StoreError.assignment(.closed)) {
            try await store.assign(.claim(ana), business, customer)
        }
        let closing = try await store.lease()
        #expect(await store.isWithPerson(closing))
        try await store.finish(closing, result: .withPerson)
        _ = await store.append(message("m2"))
        #expect(store.assignment(of: business, customer).state == .handler)
        let next = try await store.lease()
        #expect(!(await store.isWithPerson(next)))
        #expect(next.afterPerson == 1)
        await store.close()
        // From the snapshot, and from the whole journal.
        let fromSnapshot = try directory.open()
        #expect(fromSnapshot.assignment(of: business, customer).state == .handler)
        #expect(try await fromSnapshot.lease().afterPerson == 1)
        await fromSnapshot.close()
        try Directory.remove(directory.path + "/snapshot")
        let fromJournal = try directory.open()
        #expect(try await fromJournal.lease().afterPerson == 1)
        await fromJournal.close()
    }

    @Test func `a snapshot keeps every member of an assignment`() async throws {
        let store = try directory.open()
        _ = try await store.assign(.handOff(reason: "wants a refund, ééé"), business, customer)
        _ = try await store.assign(.claim(ana), business, customer)
        _ = try await store.assign(.handOff(reason: nil), business, CustomerID("urn:mbid:d"))
        let before = store.assignedConversations.map(\.assignment).sorted { $0.record < $1.record }
        await store.close()
        #expect(before.count == 2)
        let reopened = try directory.open()
        let after = reopened.assignedConversations.map(\.assignment).sorted { $0.record < $1.record }
        #expect(after == before)
        await reopened.close()
    }

    private func close(_ id: String) -> ReceivedMessage {
        ReceivedMessage(
            business: business, customer: customer, id: MessageID(id),
            message: Array("{\"id\":\"\(id)\",\"type\":\"close\"}".utf8), act: .closes)
    }
}
