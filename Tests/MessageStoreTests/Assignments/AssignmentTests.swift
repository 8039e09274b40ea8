import BalloonPOSIX
import BusinessMessages
import Synchronization
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

    /// A process may end, also in order, before the disk took the line of a change.
    @Test(arguments: [false, true])
    func `changes without a line are followed again after each start`(isKilled: Bool) async throws {
        var (directory, store) = (directory, try directory.open())
        let followed = Mutex<[String]>([])
        func restart() async throws {
            let killed = try directory.copy()
            await store.close()
            if isKilled { directory = killed }
            store = try directory.open()
            followed.withLock { $0 = [] }
            store.followAssignments { change in
                followed.withLock {
                    $0.append(change.assignment.person?.id ?? change.assignment.state.rawValue)
                }
            }
        }
        func recordFirst() async throws {
            let first = try #require(store.unrecordedAssignments.first)
            try await store.record(.assignment(first.assignment), by: .server, of: business, customer)
        }
        _ = try await store.assign(.claim(ana), business, customer)
        _ = try await store.assign(.claim(ben, takes: true), business, customer)
        _ = try await store.assign(.releaseToHandler(), business, customer)
        try await recordFirst()
        try await restart()
        #expect(followed.withLock { $0 } == ["ben", "handler"])
        _ = try await store.assign(.claim(ana), business, customer)
        #expect(followed.withLock { $0 } == ["ben", "handler", "ana"])
        try await recordFirst()
        try await restart()
        #expect(followed.withLock { $0 } == ["handler", "ana"])
        while !store.unrecordedAssignments.isEmpty { try await recordFirst() }
        try await restart()
        #expect(followed.withLock { $0 } == [])
        await store.close()
    }

    /// The record of the message that last opened the conversation after a close; 0 without one.
    private func reopened(in store: Store) -> UInt64 {
        let key = ConversationKey(business: business, customer: customer)
        return store.journalState.withAssignments { $0.entries[key]?.reopenedIn ?? 0 }
    }

    private func answer(to request: String) -> Resolution {
        .resolved(
            message: Array(#"{"interactiveData":{"data":{"requestIdentifier":"\#(request)"}}}"#.utf8))
    }

    /// The conversation is closed, or its handler answers, when the content is known.
    @Test(arguments: [(true, Assignment.State.closed), (false, .handler)])
    func `a message behind a reference opens a closed conversation unless it answers the server`(
        answersServer: Bool, state: Assignment.State
    ) async throws {
        let store = try directory.open()
        _ = try await store.assign(.claim(ana), business, customer)
        let closed = try await store.assign(.close, business, customer)
        _ = await store.append(message("m1", reference: true))
        #expect(store.assignment(of: business, customer) == closed, "its content is unknown")
        let reference = try #require(await store.nextReference())
        let request = answersServer ? ServerQuestion.survey.request(business, customer).rawValue : "other"
        try await store.resolve(reference, answer(to: request))
        #expect(store.assignment(of: business, customer).state == state)
        #expect(reopened(in: store) == (answersServer ? 0 : reference.record))
        let copy = try directory.copy()
        let recovered = try copy.open()
        #expect(
            recovered.assignment(of: business, customer) == store.assignment(of: business, customer))
        await recovered.close()
        // The first text afterwards opens the conversation, or continues it.
        _ = await store.append(message("m2"))
        #expect(store.assignment(of: business, customer).state == .handler)
        #expect((reopened(in: store) > reference.record) == answersServer)
        await store.close()
    }

    @Test func `a text that arrives during the download of an earlier message is not the first one`()
        async throws
    {
        let store = try directory.open()
        _ = try await store.assign(.claim(ana), business, customer)
        _ = try await store.assign(.close, business, customer)
        _ = await store.append(message("m1", reference: true))
        _ = await store.append(message("m2"))
        let reference = try #require(await store.nextReference())
        #expect(reopened(in: store) > reference.record)
        try await store.resolve(reference, .failed(reason: "expired"))
        #expect(reopened(in: store) == reference.record)
        await store.close()
    }

    @Test func `an answer to the server behind a reference neither ends a snooze nor waits for a person`()
        async throws
    {
        let store = try directory.open()
        _ = try await store.assign(.claim(ana), business, customer)
        let late = Timestamp.now().advanced(by: .seconds(3600))
        let snoozed = try await store.assign(.snooze(until: late), business, customer)
        _ = await store.append(message("m1", reference: true))
        let reference = try #require(await store.nextReference())
        let request = ServerQuestion.types.request(business, customer).rawValue
        try await store.resolve(reference, answer(to: request))
        #expect(store.assignment(of: business, customer) == snoozed)
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

    @Test func `a change that expects an outdated assignment is refused`() async throws {
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
                    // Every other claim throws a refusal.
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

    @Test func `an outcome after a claim is dropped, and an outcome before it is kept`() async throws {
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

    /// The customer's next message after a person is handed off at once, by the handler or by a word of the customer.
    @Test(arguments: [false, true], [AssignmentChange.releaseToHandler(), .close])
    func `a second hand-off begins anew, and is no transfer`(byHandler: Bool, end: AssignmentChange)
        async throws
    {
        let store = try directory.open()
        let first = try await store.assign(.handOff(reason: nil), business, customer)
        _ = try await store.assign(.claim(ana), business, customer)
        _ = try await store.assign(end, business, customer)
        if byHandler {
            _ = await store.append(message("m1"))
            let outcome = DecidedOutcome(
                .handedOff(reason: "asks"),
                replies: [DecidedReply(id: MessageID("r"), kind: .text, message: Array("{}".utf8))],
                waitsForPerson: true)
            #expect(try await store.decide(try await store.lease(), outcome))
        } else {
            _ = try await store.assign(.handOff(reason: nil, isAnnounced: true), business, customer)
        }
        let second = store.assignment(of: business, customer)
        #expect(second.state == .waiting && second.isAnnounced && !second.isTransferred)
        let began = Assignment.Beginning(record: second.record, sequence: first.began?.sequence ?? 0)
        #expect(second.began == began)
        _ = try await store.assign(.claim(ana), business, customer)
        let transferred = try await store.assign(.releaseToWaiting(), business, customer)
        #expect(transferred.isTransferred && transferred.began == began)
        let reopened = try directory.copy().open()
        #expect(reopened.assignment(of: business, customer) == transferred)
        await reopened.close()
        await store.close()
    }

    @Test func `the first event after a release names the first line that the handler did not see`()
        async throws
    {
        let store = try directory.open()
        _ = await store.append(message("m1"))
        try await store.finish(try await store.lease(), result: .handled)
        let claimed = try await store.assign(.claim(ana), business, customer)
        #expect(claimed.began?.sequence == 2)
        // The message arrived while the person had the conversation.
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

    @Test func `the customer's close ends the person's assignment, and the next message goes to the handler`()
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
        // Read from the snapshot, and then from the whole journal.
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

    /// A conversation whose first message is parked for an hour, which a person answered.
    private func answeredByPerson(_ store: Store, parks: Bool = true) async throws {
        _ = await store.append(message("m1"))
        let first = try await store.lease()
        _ = try await store.assign(.claim(ana), business, customer)
        store.postpone(first, after: .seconds(3600), parks: parks)
        _ = try await store.assign(.releaseToHandler(), business, customer)
    }

    @Test func `an answered event stays with its person after the handler got a later event`() async throws {
        let store = try directory.open()
        try await answeredByPerson(store)
        _ = await store.append(message("m2"))
        let second = try await store.lease()
        #expect(second.afterPerson == 2)
        try await store.finish(second, result: .handled)
        #expect(store.assignment(of: business, customer) == .handler)
        await store.journal.flush()
        #expect(try store.files.assignedConversations().conversations.isEmpty)
        await store.close()
        for snapshot in [true, false] {
            if !snapshot { try Directory.remove(directory.path + "/snapshot") }
            let copy = try directory.copy()
            let reopened = try copy.open()
            // The event is left to the person, so it is due at once and ends.
            let first = try await reopened.lease()
            #expect(first.id == MessageID("m1"))
            #expect(await reopened.isWithPerson(first))
            try await reopened.finish(first, result: .handled)
            await reopened.journal.flush()
            #expect(reopened.journalState.isUnassigned)
            await reopened.close()
            #expect(try copy.records("finished").last?["result"]?.string == "withPerson")
        }
    }

    @Test func `an answered event stays with its person after a close and a new message`() async throws {
        let store = try directory.open()
        try await answeredByPerson(store)
        _ = await store.append(message("m2"))
        try await store.finish(try await store.lease(), result: .handled)
        _ = try await store.assign(.close, business, customer)
        _ = await store.append(message("m3"))
        try await store.finish(try await store.lease(), result: .handled)
        await store.close()
        let reopened = try directory.open()
        #expect(await reopened.isWithPerson(try await reopened.lease()))
        await reopened.close()
    }

    @Test func `conversations that a person left are forgotten beside many unfinished messages`() async throws
    {
        let store = try directory.open()
        var leased: [Delivery] = []
        for name in ["a", "b", "c"] {
            let customer = CustomerID("urn:mbid:\(name)")
            _ = await store.append(message("\(name)1", from: customer))
            let first = try await store.lease()
            _ = try await store.assign(.claim(ana), business, customer)
            try await store.finish(first, result: .withPerson)
            _ = try await store.assign(.releaseToHandler(), business, customer)
            _ = await store.append(message("\(name)2", from: customer))
            leased.append(try await store.lease())
        }
        for number in 0..<600 {
            store.append(message("m\(number)", from: CustomerID("urn:mbid:w\(number)"))) { _ in }
        }
        for delivery in leased { try await store.finish(delivery, result: .handled) }
        await store.journal.flush()
        #expect(store.journalState.isUnassigned)
        await store.close()
    }

    @Test func `an answered event stays with its person after many other conversations ended`() async throws {
        let store = try directory.open()
        try await answeredByPerson(store)
        _ = await store.append(message("m2"))
        try await store.finish(try await store.lease(), result: .handled)
        await store.journal.flush()
        var state = store.journalState.withState(\.self)
        state.close(AssignmentTable.maximumEnded * 5 / 4)
        let key = ConversationKey(business: business, customer: customer)
        #expect(state.assignments.isWithPerson(1, of: key))
        #expect(state.assignments.entries.count <= AssignmentTable.maximumEnded * 9 / 8)
        await store.close()
    }

    @Test(arguments: [true, false])
    func `a claim makes postponed and parked events available at once`(parks: Bool) async throws {
        let store = try directory.open()
        _ = await store.append(message("m1"))
        store.postpone(try await store.lease(), after: .seconds(3600), parks: parks)
        _ = try await store.assign(.claim(ana), business, customer)
        let first = try await store.lease()
        #expect(await store.isWithPerson(first))
        try await store.finish(first, result: .withPerson)
        #expect(store.statistics.pendingDeliveries == 0)
        await store.close()
    }

    @Test func `a claim is refused when the customer closes the conversation while it waits`() async throws {
        let disk = FaultyDisk()
        let store = try directory.open { $0.disk = disk }
        disk.hold()
        let (results, continuation) = AsyncStream.makeStream(of: Result<Assignment, StoreError>.self)
        store.append(message("first", from: CustomerID("urn:mbid:d"))) { _ in }
        // The journal is writing the first batch, so later records are in the next batch.
        #expect(await eventually { disk.isHolding })
        store.assign(.claim(ana), business, customer) { continuation.yield($0) }
        store.append(close("m1")) { _ in }
        store.assign(.claim(ben, takes: true), business, customer) { continuation.yield($0) }
        disk.release()
        var found: [Result<Assignment, StoreError>] = []
        for await result in results {
            found.append(result)
            if found.count == 2 { break }
        }
        #expect(found.contains { if case .failure(.assignment(.closed)) = $0 { true } else { false } })
        #expect(store.assignment(of: business, customer).state == .closed)
        #expect(store.journalState.withLock(\.watches.isEmpty))
        await store.close()
    }

    @Test(arguments: [false, true])
    func `a claim behind a close that is not on disk yet is refused`(_ isWriting: Bool) async throws {
        let disk = FaultyDisk()
        let store = try directory.open { $0.disk = disk }
        disk.hold()
        if !isWriting {
            store.append(message("first", from: CustomerID("urn:mbid:d"))) { _ in }
            // The close waits for this batch.
            #expect(await eventually { disk.isHolding })
        }
        store.append(close("m1")) { _ in }
        #expect(await eventually { disk.isHolding })
        await #expect(throws: StoreError.assignment(.closed)) {
            try await store.assign(.claim(ana), business, customer)
        }
        let id = MessageID("sent")
        let message = ReceivedMessage(
            business: business, customer: customer, id: id, message: Array("{}".utf8), outboundKind: .text,
            author: .person(ana))
        guard case .failed(.assignment(.closed)) = try await store.send(message) else {
            Issue.record("the message claims the conversation")
            return
        }
        disk.release()
        await store.journal.flush()
        #expect(store.assignment(of: business, customer) == .handler)
        #expect(try directory.records("assignment").isEmpty)
        #expect(store.journalState.withLock(\.watches.isEmpty))
        await store.close()
    }

    @Test func `a customer's close is found before many lines of the business, up to a limit`() async throws {
        let store = try directory.open(recordingAs: .close)
        _ = await store.append(close("m1"))
        try await store.finish(try await store.lease(), result: .handled)
        let key = ConversationKey(business: business, customer: customer)
        func write(_ count: Int, bytes: Int, from first: Int) throws {
            let letters = [UInt8](repeating: UInt8(ascii: "a"), count: bytes)
            let body = Array("{\"body\":\"".utf8) + letters + Array("\"}".utf8)
            for number in first..<first + count {
                try store.write(
                    ConversationEntry(
                        conversation: key, record: UInt64(1000 + number), at: .now(),
                        id: MessageID("s\(number)"), kind: .text,
                        message: body,
                        result: .accepted(status: 200)), mightBeThere: false)
            }
        }
        try write(300, bytes: 8000, from: 0)
        #expect(try store.isClosedByCustomer(business, customer))
        try write(9, bytes: 2_000_000, from: 300)
        // The open file is searched once, and what is written later is known.
        #expect(try store.isClosedByCustomer(business, customer))
        let copy = try directory.copy()
        let reopened = try copy.open(recordingAs: .text)
        #expect(try !reopened.isClosedByCustomer(business, customer))
        for (id, kind) in [("m2", Kind.text), ("m3", .close), ("m4", .text)] {
            try store.write(
                ConversationEntry(
                    conversation: key, record: 5000 + UInt64(id.utf8.last ?? 0), at: .now(),
                    id: MessageID(id),
                    kind: kind, message: Array("{}".utf8)), mightBeThere: false)
            #expect(try store.isClosedByCustomer(business, customer) == (kind == .close))
        }
        await reopened.close()
        await store.close()
        withExtendedLifetime(copy) {}
    }

    private func close(_ id: String) -> ReceivedMessage {
        ReceivedMessage(
            business: business, customer: customer, id: MessageID(id),
            message: Array("{\"id\":\"\(id)\",\"type\":\"close\"}".utf8), act: .closes)
    }
}

extension JournalState {
    /// Closes the conversations of so many customers, `c1` first.
    mutating func close(_ count: Int) {
        for number in 1...count {
            let key = ConversationKey(business: business, customer: CustomerID("c\(number)"))
            let closed = Assignment(state: .closed, record: 0)
            apply(
                LocatedRecord(
                    record: .assignment(
                        AssignmentRecord(conversation: key, assignment: closed, endedIn: nil)),
                    number: UInt64(100 + number),
                    location: RecordLocation(segment: 1, offset: 0, lengthBytes: 0)))
        }
    }
}
