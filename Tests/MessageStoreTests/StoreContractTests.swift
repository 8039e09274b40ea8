import BalloonPOSIX
import BusinessMessages
import MessageStore
import TestSupport
import Testing

/// The promises of every kind of storage, tested only through the store's own methods.
///
/// No test here names a path, a file, an offset or a segment; only ``Storage`` knows where the store keeps its data. PostgreSQL is
/// a third medium: scripts/failover-test runs servers on it.
/// Tests of files are elsewhere.
struct StoreContractTests {
    /// Where the data is kept.
    enum Medium: CaseIterable {
        case disk
        /// A copy elsewhere: each open gets a directory that has only what the copy kept.
        case copy
    }

    /// The storage of one test, and the stores that are opened on it one after the other.
    private final class Storage {
        private let medium: Medium
        private var directory = TemporaryDirectory()
        private var copy: MemoryCopy?

        init(_ medium: Medium) { self.medium = medium }

        deinit { if let copy { DurableCopies.end(copy) } }

        func open(_ change: (inout StoreConfiguration) -> Void = { _ in }) throws -> Store {
            if medium == .copy {
                let former = copy
                if let former { DurableCopies.end(former) }
                directory = TemporaryDirectory()
                let new = MemoryCopy(of: directory.path)
                try former?.restore(into: new)
                DurableCopies.begin(new)
                copy = new
            }
            var configuration = StoreConfiguration(directory: directory.file("data"))
            if medium == .copy { configuration.preparedBytes = 0 }
            change(&configuration)
            let store = try Store.open(configuration, logger: LogCollector().logger)
            store.startRecording { try store.write($0, as: .text) }
            return store
        }
    }

    private func reply(_ id: String) -> DecidedReply {
        DecidedReply(id: MessageID(id), kind: .text, message: Array(#"{"id":"\#(id)","type":"text"}"#.utf8))
    }

    /// Appends all messages before the first is answered; returns the answers in the order of the messages.
    private func append(_ messages: [ReceivedMessage], to store: Store) async -> [AppendResult] {
        let answers = Answers()
        for (place, message) in messages.enumerated() {
            store.append(message, isPrompt: false) { answers.add($0, at: place) }
        }
        store.beginWriting()
        return await answers.wait(for: messages.count)
    }

    @Test(arguments: Medium.allCases)
    func `each message of a batch gets one answer of its own`(on medium: Medium) async throws {
        let storage = Storage(medium)
        let store = try storage.open()
        store.limitPending([BusinessID("small"): 1], others: 1000)
        let results = await append(
            [
                message("1"), message("2"), message("1"), message("1", to: BusinessID("other")),
                message("3", to: BusinessID("small")),
            ], to: store)
        #expect(results == [.stored, .stored, .duplicate, .stored, .stored])
        let later = await append([message("4", to: BusinessID("small")), message("4")], to: store)
        #expect(later == [.failed(.quotaReached(maximum: 1)), .stored])
        await store.close()
        #expect(await store.append(message("5")) == .failed(.closed))
    }

    @Test(arguments: Medium.allCases)
    func `a repeated message is detected, also after a restart`(on medium: Medium) async throws {
        let storage = Storage(medium)
        let store = try storage.open()
        #expect(await store.append(message("1")) == .stored)
        try await store.finish(try await store.lease(), result: .handled)
        #expect(await store.append(message("1", text: "another text")) == .duplicate)
        await store.close()
        let second = try storage.open()
        #expect(await second.append(message("1")) == .duplicate)
        #expect(second.statistics.pendingDeliveries == 0)
        await second.close()
    }

    @Test(arguments: Medium.allCases)
    func `messages of a conversation are leased one at a time, in order, and again until they are finished`(
        on medium: Medium
    )
        async throws
    {
        let storage = Storage(medium)
        let store = try storage.open()
        for id in ["1", "2"] { #expect(await store.append(message(id)) == .stored) }
        let first = try await store.lease()
        #expect(first.id == MessageID("1"))
        #expect(!first.isRecovered)
        #expect(await store.append(message("3", from: CustomerID("urn:mbid:other"))) == .stored)
        #expect(try await store.lease().id == MessageID("3"))
        await store.close()
        let second = try storage.open()
        // Conversations are recorded at the same time, so the order of their first messages is open.
        let recovered = [try await second.lease(), try await second.lease()]
        #expect(Set(recovered.map(\.id)) == [MessageID("1"), MessageID("3")])
        let again = try #require(recovered.first { $0.id == MessageID("1") })
        #expect(again.isRecovered)
        #expect(again.message == message("1").message)
        #expect(again.attributes == message("1").attributes)
        try await second.finish(again, result: .handled)
        await #expect(throws: StoreError.self) { try await second.finish(again, result: .handled) }
        await second.close()
        #expect(await second.nextDelivery(for: business) == nil)
    }

    @Test(arguments: Medium.allCases)
    func `a leased message is in its conversation, and only once however often it was leased`(
        on medium: Medium
    )
        async throws
    {
        let storage = Storage(medium)
        let store = try storage.open()
        #expect(await store.append(message("1")) == .stored)
        _ = try await store.lease()
        #expect(try store.recentLines(of: business, customer, maximum: 10).map(\.id) == [MessageID("1")])
        await store.close()
        let second = try storage.open()
        _ = try await second.lease()
        #expect(try second.recentLines(of: business, customer, maximum: 10).map(\.id) == [MessageID("1")])
        await second.close()
    }

    @Test(arguments: Medium.allCases)
    func `a decided outcome stays decided, and its replies keep their ids, bytes and order`(on medium: Medium)
        async throws
    {
        let storage = Storage(medium)
        let store = try storage.open()
        #expect(await store.append(message("1")) == .stored)
        let delivery = try await store.lease()
        let outcome = DecidedOutcome(.handled, replies: [reply("a"), reply("b")], state: Array("{}".utf8))
        try await store.decide(delivery, outcome)
        await #expect(throws: StoreError.alreadyDecided(record: delivery.record)) {
            try await store.decide(delivery, DecidedOutcome(.handled))
        }
        #expect(store.queuedReplies(of: business, customer).map(\.reply) == [reply("a"), reply("b")])
        await store.close()
        let second = try storage.open()
        // The delivery of the message has not ended, but its outcome is decided.
        #expect(try await second.lease().decided == outcome)
        let entry = try #require(second.leaseReply())
        #expect(entry.reply == reply("a"))
        #expect(entry.isRecovered)
        #expect(second.leaseReply() == nil)
        try await second.settle(entry, .accepted(status: 200))
        try await second.settle(entry, .refused(status: 400, reason: "too late"))
        #expect(second.leaseReply()?.reply == reply("b"))
        #expect(second.queuedReplyCount == 1)
        await second.close()
        let third = try storage.open()
        #expect(third.queuedReplies(of: business, customer).map(\.reply) == [reply("b")])
        let lines = try third.recentLines(of: business, customer, maximum: 10)
        #expect(lines.map(\.outcome) == [nil, "accepted"])
        await third.close()
    }

    @Test(arguments: Medium.allCases)
    func `a payload reference is resolved once, and its message is not delivered before`(on medium: Medium)
        async throws
    {
        let storage = Storage(medium)
        let store = try storage.open()
        #expect(await store.append(message("1", reference: true)) == .stored)
        let reference = try #require(await store.nextReference())
        try await store.resolve(reference, .failed(reason: "gone"))
        store.release(reference)
        await #expect(throws: StoreError.alreadyResolved(record: reference.record)) {
            try await store.resolve(reference, .failed(reason: "gone"))
        }
        #expect(try await store.lease().id == MessageID("1"))
        await store.close()
    }

    @Test(arguments: Medium.allCases)
    func `a retried dead letter is delivered once more, as a new record`(on medium: Medium) async throws {
        let storage = Storage(medium)
        let store = try storage.open()
        #expect(await store.append(message("1")) == .stored)
        let delivery = try await store.lease()
        try await store.finish(delivery, result: .failed(reason: "no"))
        let records = try await store.replay([delivery.record])
        #expect(records.count == 1)
        let again = try await store.lease()
        #expect(again.isReplay)
        #expect(again.record == records.first)
        #expect(again.message == delivery.message)
        try await store.finish(again, result: .handled)
        await store.close()
        let second = try storage.open()
        #expect(second.statistics.pendingDeliveries == 0)
        await second.close()
    }

    @Test(arguments: Medium.allCases)
    func `a postponed delivery stays first, and its attempts are still counted after a restart`(
        on medium: Medium
    )
        async throws
    {
        let storage = Storage(medium)
        let store = try storage.open()
        for id in ["1", "2"] { #expect(await store.append(message(id)) == .stored) }
        let first = try await store.lease()
        #expect((first.id, first.attempt) == (MessageID("1"), 1))
        store.postpone(first, after: .zero)
        let again = try await store.lease()
        #expect((again.id, again.attempt) == (MessageID("1"), 2))
        // The release costs no attempt.
        #expect(store.release(again) != nil)
        await store.close()
        let second = try storage.open()
        let recovered = try await second.lease()
        #expect((recovered.id, recovered.attempt) == (MessageID("1"), 2))
        await second.close()
    }

    @Test(arguments: Medium.allCases)
    func `the delivery after a parked one can be leased, and reports the gap`(on medium: Medium) async throws
    {
        let storage = Storage(medium)
        let store = try storage.open()
        for id in ["1", "2"] { #expect(await store.append(message(id)) == .stored) }
        store.postpone(try await store.lease(), after: .seconds(3600), parks: true)
        let next = try await store.lease()
        #expect(next.id == MessageID("2"))
        #expect(next.isAfterGap)
        #expect(store.statistics.parkedDeliveries == 1)
        await store.close()
        let second = try storage.open()
        #expect(second.statistics.parkedDeliveries == 1)
        await second.close()
    }

    @Test(arguments: Medium.allCases)
    func `a handler's state is that of the last decision, before and after a restart`(on medium: Medium)
        async throws
    {
        let storage = Storage(medium)
        let store = try storage.open()
        for (id, state) in [("1", #"{"n":1}"#), ("2", #"{"n":2}"#)] {
            #expect(await store.append(message(id)) == .stored)
            let delivery = try await store.lease()
            try await store.decide(delivery, DecidedOutcome(.handled, state: Array(state.utf8)))
            try await store.finish(delivery, result: .handled)
            #expect(try await store.state(of: business, customer) == Array(state.utf8))
        }
        await store.close()
        let second = try storage.open()
        #expect(try await second.state(of: business, customer) == Array(#"{"n":2}"#.utf8))
        #expect(try await second.state(of: business, CustomerID("urn:mbid:other")) == nil)
        await second.close()
    }

    @Test(arguments: Medium.allCases)
    func `a message that an operator drops ends once, and the next one can be leased`(on medium: Medium)
        async throws
    {
        let storage = Storage(medium)
        let store = try storage.open()
        for id in ["1", "2"] { #expect(await store.append(message(id)) == .stored) }
        let first = try await store.lease()
        await #expect(throws: StoreError.notFinished(record: first.record)) {
            try await store.dropPending([first.record], reason: "no")
        }
        store.postpone(first, after: .seconds(3600))
        #expect(try await store.dropPending([first.record], reason: "no") == [])
        #expect(try await store.dropPending([first.record], reason: "no") == [first.record])
        #expect(try await store.lease().id == MessageID("2"))
        await store.close()
    }

    @Test(arguments: Medium.allCases)
    func `a refused reply is retried with its id, and dropped once`(on medium: Medium) async throws {
        let storage = Storage(medium)
        let store = try storage.open()
        #expect(await store.append(message("1")) == .stored)
        let delivery = try await store.lease()
        try await store.decide(delivery, DecidedOutcome(.handled, replies: [reply("a")]))
        try await store.finish(delivery, result: .handled)
        let entry = try #require(store.leaseReply())
        store.postpone(entry, after: .zero)
        let second = try #require(store.leaseReply())
        #expect((second.reply, second.attempts) == (reply("a"), 1))
        try await store.settle(second, .refused(status: 403, reason: "no"))
        #expect(store.queuedReplyCount == 0)
        _ = try await store.retry([second.id])
        let retried = try #require(store.leaseReply())
        #expect(retried.reply == reply("a"))
        try await store.settle(retried, .refused(status: 403, reason: "no"))
        #expect(try await store.drop([retried.id], reason: "no") == [])
        #expect(try await store.drop([retried.id], reason: "no") == [retried.id])
        await store.close()
    }
}

/// Collects the answers to messages that were appended together.
private final class Answers: Sendable {
    private let stream: AsyncStream<(AppendResult, Int)>
    private let answers: AsyncStream<(AppendResult, Int)>.Continuation

    init() { (stream, answers) = AsyncStream.makeStream() }

    func add(_ result: AppendResult, at place: Int) { answers.yield((result, place)) }

    /// Waits until this many answers have arrived; a second answer for one message takes the place of another
    /// message's answer.
    func wait(for count: Int) async -> [AppendResult] {
        var results: [Int: AppendResult] = [:]
        var taken = 0
        for await (result, place) in stream {
            results[place] = result
            taken += 1
            if taken == count { break }
        }
        return (0..<count).compactMap { results[$0] }
    }
}
