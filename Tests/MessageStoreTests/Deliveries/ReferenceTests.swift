import BusinessMessages
import MessageStore
import Synchronization
import TestSupport
import Testing

struct ReferenceTests {
    let directory = StoreDirectory()

    @Test func `each payload reference is leased once, without waiting for its turn in the conversation`()
        async throws
    {
        let store = try directory.open()
        _ = await store.append(message("m1"))
        _ = await store.append(message("m2", reference: true))
        _ = await store.append(message("m3", reference: true))
        _ = try await store.lease()
        #expect(store.statistics.pendingReferences == 2)
        let first = try #require(await store.nextReference())
        let second = try #require(await store.nextReference())
        #expect([first.id, second.id] == [MessageID("m2"), MessageID("m3")])
        #expect(
            String(decoding: first.message, as: UTF8.self) == #"{"id":"m2","type":"text","body":"hello"}"#)
        #expect(store.statistics.pendingReferences == 0)
    }

    @Test func `a delivery and later ones of its conversation wait for its payload reference`() async throws {
        let store = try directory.open()
        _ = await store.append(message("m1", reference: true))
        _ = await store.append(message("m2"))
        let next = Task { try await store.lease() }
        let reference = try #require(await store.nextReference())
        let whole = Array("{\"id\":\"m1\",\n\"interactiveData\":{}}".utf8)
        try await store.resolve(reference, .resolved(message: whole))
        let delivery = try await next.value
        #expect(delivery.id == MessageID("m1"))
        #expect(delivery.referenceFailure == nil)
        #expect(delivery.text == #"{"id":"m1", "interactiveData":{}}"#)
        try await store.finish(delivery, result: .handled)
        #expect(try await store.lease().id == MessageID("m2"))
    }

    @Test func `the payload reference of a later message may be resolved before that of an earlier one`()
        async throws
    {
        let store = try directory.open()
        for id in ["m1", "m2"] { _ = await store.append(message(id, reference: true)) }
        let first = try #require(await store.nextReference())
        let second = try #require(await store.nextReference())
        try await store.resolve(second, .failed(reason: "expired"))
        try await store.resolve(first, .failed(reason: "too large"))
        let delivery = try await store.lease()
        #expect(delivery.referenceFailure == "too large")
        #expect(delivery.text.contains("m1"))
        try await store.finish(delivery, result: .handled)
        #expect(try await store.lease().referenceFailure == "expired")
        await #expect(throws: StoreError.alreadyResolved(record: second.record)) {
            try await store.resolve(second, .resolved(message: Array("{}".utf8)))
        }
    }

    @Test func `after a kill a resolved payload reference stays resolved, and an open one is leased again`()
        async throws
    {
        let store = try directory.open()
        for id in ["m1", "m2"] {
            _ = await store.append(message(id, from: CustomerID(id), reference: true))
        }
        let first = try #require(await store.nextReference())
        _ = await store.nextReference()
        try await store.resolve(first, .resolved(message: Array(#"{"whole":true}"#.utf8)))

        let copy = try directory.copy()
        let reopened = try copy.open()
        let delivery = try await reopened.lease()
        #expect(delivery.referenceFailure == nil)
        #expect(delivery.text == #"{"whole":true}"#)
        #expect(reopened.statistics.pendingReferences == 1)
        #expect(await reopened.nextReference()?.id == MessageID("m2"))
    }

    @Test func `sixteen slow payload references of one business delay none of another business`() async throws
    {
        let store = try directory.open()
        for number in 0..<16 { _ = await store.append(message("slow\(number)", reference: true)) }
        // One task for each slot holds a reference, and none of the downloads ends.
        let out = References()
        let tasks = (0..<16).map { _ in
            Task {
                guard let reference = await store.nextReference() else { return }
                out.add(reference)
            }
        }
        #expect(await eventually { out.all.count >= 8 })
        #expect(store.statistics.pendingReferences == 8)
        let other = BusinessID("another")
        _ = await store.append(message("quick", to: other, reference: true))
        #expect(await eventually { out.all.count >= 9 })
        let reference = try #require(out.all.last)
        #expect(reference.business == other)
        // The released slot stays reserved for another business.
        store.release(reference)
        #expect(store.statistics.pendingReferences == 8)
        store.stopLeasing()
        for task in tasks { await task.value }
    }
}

/// Collects the leased references.
private final class References: Sendable {
    private let references = Mutex<[UnrecordedMessage]>([])

    var all: [UnrecordedMessage] { references.withLock { $0 } }
    func add(_ reference: UnrecordedMessage) { references.withLock { $0.append(reference) } }
}
