import BalloonPOSIX
import BusinessMessages
import TestSupport
import Testing

@testable import MessageStore

/// A power cut that removes every line written to conversations since the last checkpoint.
struct PowerCutTests {
    /// The maximum duration of the start.
    ///
    /// The release build took 3 s for 88,000 lines. A debug build took 28 s for 120,000 on a quiet machine, and 82 s
    /// beside four busy processes; its limit only shows that the time does not grow with the square.
    #if DEBUG
        private static let limit = Duration.seconds(300)
    #else
        private static let limit = Duration.seconds(10)
    #endif

    @Test func `a start restores the lines that a power cut removed within a time limit`() async throws {
        // `scripts/crash-test` sets 120,000, the lines of ten minutes at 200 a second.
        let count = ProcessEnvironment.variables()["CRASH_TEST_LINES"].flatMap(Int.init) ?? 1_200
        let conversations = count / 6
        let directory = StoreDirectory()
        let store = try directory.open()
        for number in 0..<count {
            let text = message("\(number)", from: CustomerID("c\(number % conversations)"))
            // The last of a thousand is answered when all of them are durable.
            guard number % 1000 == 999 || number == count - 1 else {
                store.append(text, isPrompt: false) { _ in }
                continue
            }
            #expect(await store.append(text) == .stored)
            for _ in 0...(number % 1000) {
                try await store.finish(try await store.lease(), result: .handled)
            }
        }
        await store.journal.flush()
        let cut = try directory.copy()
        try Directory.rename(cut.path + "/conversations", to: cut.temporary.file("lost"))
        await store.close()
        let start = ContinuousClock.now
        let restarted = try cut.open()
        let duration = ContinuousClock.now - start
        let restored = try ConversationFiles(dataDirectory: cut.path).list()
        #expect(restored.count == conversations)
        #expect(restored.map(\.lines).reduce(0, +) == count)
        #expect(duration < Self.limit)
        print("power cut: \(count) lines of \(conversations) conversations were written again in \(duration)")
        await restarted.close()
        #expect(try StoreVerification.run(dataDirectory: cut.path) { Issue.record("\($0)") }.problems == 0)
    }
}
