import BalloonPOSIX
import BusinessMessages
import Dispatch
import Glibc
import MessageStore
import Synchronization
import Testing

/// Reading the whole journal delays no other caller.
struct JournalReadingTests {
    let directory = StoreDirectory()

    @Test func `deliveries continue while many callers read the journal`() async throws {
        let store = try directory.open()
        #expect(await store.append(message("dead")) == .stored)
        let dead = try await store.lease()
        try await store.finish(dead, result: .failed(reason: "no use"))
        // Opening this pipe blocks until the other end is opened.
        let obstacle = directory.journal + "/000000000000.jsonl"
        #expect(mkfifo(obstacle, 0o600) == 0)
        let isReleased = Atomic(false)
        let release: @Sendable () -> Void = {
            if isReleased.exchange(true, ordering: .relaxed) { return }
            // Opens both ends, so that later calls do not block.
            _ = open(obstacle, O_RDWR)
        }
        let readers = (0..<16).map { number in
            Task {
                switch number % 3 {
                case 0: _ = try? await store.replay([dead.record])
                case 1: try? await store.drop([dead.record])
                default: _ = try? await store.rebuild()
                }
            }
        }
        DispatchQueue(label: "test.late").asyncAfter(deadline: .now() + .seconds(120), execute: release)
        for number in 0..<20 {
            #expect(await store.append(message("\(number)")) == .stored)
            let delivery = try await store.lease()
            try await store.finish(delivery, result: .handled)
        }
        let isLate = isReleased.load(ordering: .relaxed)
        #expect(!isLate, "the readers held the deliveries up")
        release()
        for reader in readers { await reader.value }
        await store.close()
    }
}
