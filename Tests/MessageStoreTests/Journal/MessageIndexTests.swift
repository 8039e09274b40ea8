import BalloonPOSIX
import BusinessMessages
import Testing

@testable import MessageStore

/// The deduplication window, at times that the test chooses instead of a clock.
struct MessageIndexTests {
    private let start = Timestamp(milliseconds: 1_800_000_000_000)

    private func key(_ number: Int) -> MessageKey {
        MessageKey(business: BusinessID("b"), id: MessageID("\(number)"))
    }

    private func claim(_ index: inout MessageIndex, _ number: Int, after hours: Int) -> MessageIndex.Claim {
        let claim = index.claim(key(number), at: start.advanced(by: .seconds(hours * 3600))) { _ in }
        if claim == .absent { _ = index.store(key(number), record: UInt64(number)) }
        return claim
    }

    @Test func `a message is known for the whole deduplication window and forgotten some time later`() {
        var index = MessageIndex()
        for hours in 0..<72 { #expect(claim(&index, hours + 1, after: hours) == .absent) }
        #expect(claim(&index, 1, after: 72) == .durable)
        #expect(claim(&index, 72, after: 72 + 71) == .durable)
        #expect(claim(&index, 1, after: 400) == .absent)
    }

    @Test func `the index remembers the latest messages, up to its maximum number`() {
        var index = MessageIndex(maximumCount: 400)
        for number in 1...10_000 { #expect(claim(&index, number, after: 0) == .absent) }
        #expect(index.count <= 400)
        #expect(claim(&index, 10_000, after: 0) == .durable)
        #expect(claim(&index, 9_701, after: 0) == .durable)
        #expect(claim(&index, 1, after: 0) == .absent)
    }

    @Test func `a message that waits for its sync is found after the index has started a new generation`() {
        var index = MessageIndex()
        #expect(index.claim(key(1), at: start) { _ in } == .absent)
        #expect(claim(&index, 2, after: 30) == .absent)
        #expect(index.claim(key(1), at: start) { _ in } == .waiting)
        #expect(index.store(key(1), record: 1)?.count == 1)
        #expect(claim(&index, 1, after: 30) == .durable)
        #expect(index.count == 2)
    }

    @Test func `a jump of the clock does not empty the index`() {
        var index = MessageIndex()
        #expect(claim(&index, 1, after: 0) == .absent)
        #expect(claim(&index, 2, after: 100_000) == .absent)
        #expect(claim(&index, 1, after: 100_001) == .durable)
        #expect(claim(&index, 2, after: 1) == .durable)
    }
}

/// The deduplication window across a restart.
struct WindowRecoveryTests {
    @Test func `a copy that was accepted after the index forgot the first one is delivered after a restart`()
        async throws
    {
        let directory = StoreDirectory()
        let store = try directory.open { $0.maximumRememberedMessages = 8 }
        #expect(await store.append(message("a")) == .stored)
        try await store.finish(try await store.lease(), result: .handled)
        for number in 0..<8 {
            #expect(await store.append(message("\(number)")) == .stored)
            try await store.finish(try await store.lease(), result: .handled)
        }
        #expect(await store.append(message("a")) == .stored)
        await store.close()
        // The new process remembers more messages, and finds both.
        let restarted = try directory.open()
        #expect(restarted.statistics.pendingDeliveries == 1)
        #expect(try await restarted.lease().id == MessageID("a"))
    }
}
