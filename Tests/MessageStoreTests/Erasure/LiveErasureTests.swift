import BalloonJSON
import BalloonPOSIX
import BusinessMessages
import Synchronization
import TestSupport
import Testing

@testable import MessageStore

/// Forgetting a customer while the store is open.
struct LiveErasureTests {
    private typealias Fixture = ErasureFixture

    /// The files with a text of the erased messages; the customer writes again in these tests.
    private func traces(_ fixture: Fixture) throws -> [String] {
        try fixture.traces(of: ["SECRET-77", "id-77"])
    }

    private func verify(_ fixture: Fixture) throws {
        _ = try StoreVerification.run(dataDirectory: fixture.directory.path) { Issue.record("\($0)") }
    }

    /// The types of the journal's records with the result `erased`.
    private func typesOfErasedEnds(in fixture: Fixture) throws -> [String] {
        var types: [String] = []
        let journal = JournalErasure(directory: fixture.directory.path + "/journal", files: DataFiles())
        try journal.forEachLine { _, _, line in
            guard let root = (try? JSONDocument(Array(line)))?.root, root["result"]?.string == "erased" else {
                return
            }
            types.append(root["type"]?.string ?? "")
        }
        return types
    }

    @Test func `an open store erases a customer, also its pending messages, queued replies and dead letters`()
        async throws
    {
        let fixture = try await Fixture()
        let conversation = try File(fixture.path(of: Fixture.other), for: .reading).readAll()
        let events = try fixture.otherEvents()
        let store = try fixture.open { $0.keepsIndex = true }
        await store.rest()
        #expect(store.statistics.pendingDeliveries > 0)
        #expect(store.statistics.queuedReplies == 1)
        let report = try await store.erase([Fixture.forgotten])
        #expect(report.conversations == 2)
        #expect(report.contents == 1)
        #expect(report.unreached == [])
        #expect(store.statistics.pendingDeliveries == 0)
        #expect(store.statistics.queuedReplies == 0)
        // The record of the reply is replaced, because it may have a text.
        #expect(try Set(typesOfErasedEnds(in: fixture)) == ["finished"])
        #expect(store.journalState.withState { $0.ledger.deadLetters.isEmpty })
        #expect(store.journalState.isUnassigned)
        #expect(await store.append(message("id-77-1", from: Fixture.forgotten)) == .duplicate)
        #expect(try await store.state(of: business, Fixture.forgotten) == nil)
        await store.index.rest()
        #expect(try fixture.traces() == [])
        await store.close()
        #expect(try fixture.traces() == [])
        #expect(try File(fixture.path(of: Fixture.other), for: .reading).readAll() == conversation)
        #expect(try fixture.otherEvents() == events)
        try verify(fixture)
        let next = try fixture.open()
        #expect(await next.append(message("id-77-5", from: Fixture.forgotten)) == .duplicate)
        #expect(next.statistics.pendingDeliveries == 0)
        await next.close()
    }

    @Test func `an erasure waits for a running handler, and keeps what the customer wrote meanwhile`()
        async throws
    {
        let fixture = try await Fixture()
        let store = try fixture.open()
        let delivery = try await store.lease()
        #expect(delivery.customer == Fixture.forgotten)
        let erasure = Task { try await store.erase([Fixture.forgotten]) }
        let job = fixture.directory.path + "/erasing"
        #expect(await eventually { Directory.exists(job) })
        #expect(await store.append(message("later", from: Fixture.forgotten, text: "again")) == .stored)
        let killed = try fixture.copy()
        let reply = DecidedReply(
            id: MessageID("id-77-r5"), kind: .text, message: Array("{\"body\":\"SECRET-77\"}".utf8))
        try await store.decide(delivery, DecidedOutcome(.handled, replies: [reply]))
        try await store.finish(delivery, result: .handled)
        #expect(try await erasure.value.conversations == 2)
        #expect(!Directory.exists(job))
        for (fixture, store) in [(fixture, store), (killed, try killed.open())] {
            let later = try await store.lease()
            #expect(later.id == MessageID("later"))
            try await store.finish(later, result: .handled)
            #expect(store.statistics.pendingDeliveries == 0)
            #expect(store.statistics.queuedReplies == 0)
            await store.close()
            #expect(try traces(fixture) == [])
            let lines = try ConversationFiles(dataDirectory: fixture.directory.path).lines(
                of: business, Fixture.forgotten)
            #expect(lines.map(\.id) == [MessageID("later")])
            // It keeps its number, which depends on how many lines came before.
            #expect(lines.allSatisfy { $0.sequence > 1 })
            try verify(fixture)
        }
    }

    @Test func `an operator's change does not wait for the handler for which an erasure waits`() async throws
    {
        let fixture = try await Fixture()
        let store = try fixture.open()
        let delivery = try await store.lease()
        #expect(delivery.customer == Fixture.forgotten)
        let erasure = Task { try await store.erase([Fixture.forgotten]) }
        #expect(await eventually { Directory.exists(fixture.directory.path + "/erasing") })
        let isChanged = Atomic(false)
        let change = Task {
            let replays = try await store.replay { _ in true }
            isChanged.store(true, ordering: .releasing)
            return replays.count
        }
        #expect(await eventually { isChanged.load(ordering: .acquiring) })
        // It replayed messages of the customer, too, who must be forgotten all the same.
        try await store.finish(delivery, result: .handled)
        #expect(try await erasure.value.conversations == 2)
        #expect(try await change.value > 0)
        await store.close()
        #expect(try fixture.traces() == [])
        try verify(fixture)
    }

    @Test func `messages of other customers are stored and delivered during an erasure`() async throws {
        let fixture = try await Fixture()
        let store = try fixture.open()
        async let erasure = store.erase([Fixture.forgotten])
        for number in 1...50 {
            #expect(await store.append(message("n-\(number)", from: Fixture.other)) == .stored)
        }
        #expect(try await erasure.conversations == 2)
        await store.rest()
        var ids: [MessageID] = []
        for _ in 1...50 {
            let delivery = try await store.lease()
            ids.append(delivery.id)
            try await store.finish(delivery, result: .handled)
        }
        #expect(ids == (1...50).map { MessageID("n-\($0)") })
        await store.close()
        #expect(try fixture.traces() == [])
        try verify(fixture)
    }

    @Test func `an erasure first completes an earlier one that failed`() async throws {
        let fixture = try await Fixture()
        let store = try fixture.open()
        await store.rest()
        let erasure = CustomerErasure(
            DataDirectory(path: fixture.directory.path), CustomerErasure.Settings())
        try erasure.begin(erasure.find([Fixture.forgotten]))
        #expect(try await store.erase([CustomerID("unknown")]) == CustomerErasure.Report())
        #expect(!Directory.exists(fixture.directory.path + "/erasing"))
        #expect(try traces(fixture) == [])
        await store.close()
        try verify(fixture)
    }

    @Test func `a content that another customer's unfinished message has brought stays`() async throws {
        let fixture = try await Fixture()
        let store = try fixture.open()
        let content = fixture.ownContent
        let held = fixture.hash(content)
        let report = try await store.erase([Fixture.forgotten]) { settings in
            settings.unrecordedContents = { [held] }
        }
        #expect(report.contents == 0)
        #expect(Directory.exists(fixture.path(ofContent: content)))
        await store.close()
    }

    @Test func `a content that arrives after the held contents were listed stays`() async throws {
        let fixture = try await Fixture()
        let store = try fixture.open()
        let path = fixture.path(ofContent: fixture.ownContent)
        let report = try await store.erase([Fixture.forgotten]) { settings in
            settings.unrecordedContents = {
                // Another customer's message brings the content now.
                try? FileStatus.setModified(path, secondsSince1970: SystemClock.secondsSince1970())
                return []
            }
        }
        #expect(report.contents == 0)
        #expect(Directory.exists(path))
        await store.close()
    }

    @Test func `an erasure of an unknown customer changes nothing and writes no ledger`() async throws {
        let fixture = try await Fixture()
        let store = try fixture.open()
        #expect(try await store.erase([CustomerID("unknown")]) == CustomerErasure.Report())
        #expect(!Directory.exists(fixture.directory.path + "/erasures.jsonl"))
        await store.close()
    }

    /// An answer to an erased message that is decided after the erasure has begun.
    private static let lateAnswers: [(name: String, outcome: DecidedOutcome)] = [
        ("a state", DecidedOutcome(.handled, state: Array("{\"s\":\"SECRET-77\"}".utf8))),
        (
            "a hand-off",
            DecidedOutcome(.handedOff(reason: "SECRET-77 wants a person"), waitsForPerson: true)
        ),
        (
            "a reply, a state and a hand-off",
            DecidedOutcome(
                .handedOff(reason: "SECRET-77 wants a person"),
                replies: [
                    DecidedReply(
                        id: MessageID("id-77-r5"), kind: .text,
                        message: Array("{\"body\":\"SECRET-77\"}".utf8))
                ],
                state: Array("{\"s\":\"SECRET-77\"}".utf8), waitsForPerson: true)
        ),
    ]

    @Test(arguments: 0..<3, [false, true])
    func `an answer that is decided during the erasure leaves nothing, also after a crash`(
        number: Int, isClaimed: Bool
    ) async throws {
        let (name, outcome) = Self.lateAnswers[number]
        let fixture = try await Fixture()
        let store = try fixture.open()
        let delivery = try await store.lease()
        #expect(delivery.customer == Fixture.forgotten)
        let erasure = Task { try await store.erase([Fixture.forgotten]) }
        #expect(await eventually { Directory.exists(fixture.directory.path + "/erasing") })
        try await store.decide(delivery, outcome)
        if isClaimed, outcome.waitsForPerson {
            let ana = try #require(Person(id: "agent-7"))
            _ = try await store.assign(.claim(ana), business, Fixture.forgotten)
        }
        let killed = try fixture.copy()
        try await store.finish(delivery, result: .handled)
        #expect(try await erasure.value.conversations == 2)
        for (fixture, store) in [(fixture, store), (killed, try killed.open())] {
            #expect(try await store.state(of: business, Fixture.forgotten) == nil, "\(name)")
            #expect(store.journalState.isUnassigned, "\(name)")
            #expect(store.statistics.queuedReplies == 0, "\(name)")
            await store.close()
            #expect(try fixture.traces() == [], "\(name)")
            try verify(fixture)
        }
    }

    @Test func `a message that a handler sends during the erasure leaves nothing, also after a crash`()
        async throws
    {
        let fixture = try await Fixture()
        let store = try fixture.open()
        let delivery = try await store.lease()
        let erasure = Task { try await store.erase([Fixture.forgotten]) }
        #expect(await eventually { Directory.exists(fixture.directory.path + "/erasing") })
        func sent(_ id: String, by author: MessageAuthor, _ text: String) -> ReceivedMessage {
            ReceivedMessage(
                business: business, customer: Fixture.forgotten, id: MessageID(id),
                message: Array(#"{"type":"text","body":"\#(text)"}"#.utf8), outboundKind: .text,
                author: author)
        }
        #expect(try await store.send(sent("id-77-s", by: .handler, "SECRET-77")) == .stored)
        #expect(try await store.send(sent("ours", by: .program, "Hello")) == .stored)
        let killed = try fixture.copy()
        try await store.finish(delivery, result: .handled)
        #expect(try await erasure.value.conversations == 2)
        for (fixture, store) in [(fixture, store), (killed, try killed.open())] {
            await store.rest()
            #expect(store.outbox.withQueue(\.all).count == 1)
            await store.close()
            #expect(try traces(fixture) == [])
            try verify(fixture)
        }
    }

    @Test func `a later message is delivered only after the erasure, without the erased state`() async throws
    {
        let fixture = try await Fixture()
        let store = try fixture.open()
        let delivery = try await store.lease()
        let erasure = Task { try await store.erase([Fixture.forgotten]) }
        #expect(await eventually { Directory.exists(fixture.directory.path + "/erasing") })
        #expect(await store.append(message("later", from: Fixture.forgotten, text: "again")) == .stored)
        try await store.decide(delivery, Self.lateAnswers[0].outcome)
        // The next delivery is leased as soon as this one ends, unless the erasure holds it.
        let next = Task { try await store.lease() }
        try await store.finish(delivery, result: .handled)
        let later = try await next.value
        #expect(later.id == MessageID("later"))
        #expect(!Directory.exists(fixture.directory.path + "/erasing"))
        #expect(try await store.state(of: business, Fixture.forgotten) == nil)
        try await store.finish(later, result: .handled)
        _ = try await erasure.value
        await store.close()
        #expect(try traces(fixture) == [])
    }

    @Test func `an erasure leaves nothing of a dead letter that a retention round is copying`() async throws {
        let fixture = try await Fixture()
        let store = try fixture.open()
        await store.rest()
        let letters = store.journalState.withState { state in
            state.ledger.deadLetters.keys.filter { $0.reply == nil }.map(\.record).sorted()
        }
        #expect(letters.count == 1)
        let state = String(fixture.path(of: Fixture.forgotten, in: "states").dropLast())
        #expect(Directory.exists(state))
        let steps = EventCollector<String>()
        // Copies like a round, which has read the letters when the erasure begins.
        let round = Task {
            try await store.retention.excluding {
                let events = try await store.deliveryIndex.run { index throws(StoreError) in
                    try index.events(inOrder: letters)
                }
                steps.append("read")
                // The erasure removes the state shortly before it waits for the round.
                #expect(await eventually { !Directory.exists(state) })
                for event in events { _ = try await store.journal.append(JournalBody.carried(event)) }
            }
        }
        await steps.first { $0 == "read" }
        #expect(try await store.erase([Fixture.forgotten]).conversations == 2)
        try await round.value
        #expect(store.journalState.withState { $0.ledger.deadLetters.isEmpty })
        await store.close()
        #expect(try fixture.traces() == [])
        try verify(fixture)
    }

    @Test func `an erasure ends a message that waits for its handler`() async throws {
        let fixture = try await Fixture()
        let store = try fixture.open()
        let delivery = try await store.lease()
        store.beginWaitingForHandler(delivery)
        #expect(try await store.erase([Fixture.forgotten]).conversations == 2)
        #expect(!store.beginCall(delivery))
        await store.close()
        #expect(try fixture.traces() == [])
        try verify(fixture)
    }

    @Test(arguments: [false, true])
    func `a kept payment is removed when its charge is settled`(isOpen: Bool) async throws {
        let fixture = try await Fixture()
        var store = try fixture.open()
        let entry = ReplyID(record: 4, index: 0)
        let name = RequestName(of: "secret-of-payment")
        _ = try await store.requests.request(of: entry) { now in
            (
                "secret-of-payment",
                OpenRequest(
                    .payment, business: business, customer: Fixture.forgotten,
                    requestIdentifier: "SECRET-77", entry: entry, payload: Array("{}".utf8),
                    stateLifetime: .seconds(600), releaseLifetime: .zero, at: now)
            )
        }
        try await store.requests.update(name) { request, _ in
            request?.set(payload: Array("{}".utf8), deadline: nil, isBusy: true)
        }
        if isOpen {
            #expect(try await store.erase([Fixture.forgotten]).unreached.count == 1)
        } else {
            await store.close()
            let report = try Store.erase(
                [Fixture.forgotten], in: fixture.directory.path, CustomerErasure.Settings())
            #expect(report.unreached.count == 1)
        }
        await store.close()
        store = try fixture.open()
        try await store.requests.update(name) { request, _ in
            #expect(request?.isErased == true)
            // A reversal that is not confirmed yet.
            request?.set(payload: Array("{\"n\":1}".utf8), deadline: nil, isBusy: true)
        }
        #expect(try store.requests.find(name) != nil)
        try await store.requests.update(name) { request, _ in
            request?.set(payload: Array("{\"n\":2}".utf8), deadline: nil, isBusy: false)
        }
        #expect(try store.requests.find(name) == nil)
        await store.close()
        #expect(try fixture.traces() == [])
        try verify(fixture)
    }
}
