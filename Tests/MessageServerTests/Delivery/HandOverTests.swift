import BusinessMessages
import Glibc
import HandlerKit
import MessageStore
import ServerTestSupport
import Synchronization
import TestSupport
import Testing

@testable import MessageServer

/// Counts how often a delivery changes threads, since each change costs more time than most stages.
@Suite(.timeLimit(.minutes(10))) struct HandOverTests {
    /// The threads on which the steps of the current message ran, in order.
    private final class Threads: StageObserver {
        private let threads = Mutex<[pthread_t]>([])
        /// Yields at the end of each delivery.
        let ends: AsyncStream<Void>
        private let end: AsyncStream<Void>.Continuation

        init() { (ends, end) = AsyncStream.makeStream() }

        func note() { threads.withLock { $0.append(pthread_self()) } }

        func observe(_ event: StageEvent) {
            note()
            if event.stage == .finish { end.yield() }
        }

        /// Returns how often the thread changed from one step to the next, and starts a new count.
        func takeChanges() -> Int {
            threads.withLock { threads in
                defer { threads = [] }
                return zip(threads, threads.dropFirst()).count { $0 != $1 }
            }
        }
    }

    private struct QuietHandler: TextHandler {
        let threads: Threads

        func text(_: Text, _: Context) -> Outcome {
            threads.note()
            return .handled
        }
    }

    @Test func `a delivery from the journal to its end changes threads twice`() async throws {
        let threads = Threads()
        let test = try await PipelineUnderTest(QuietHandler(threads: threads), observer: threads)
        let running = test.run()
        var changes: [Int] = []
        var ends = threads.ends.makeAsyncIterator()
        for number in 0..<60 {
            await test.append("x", from: "c\(number)") { threads.note() }
            await ends.next()
            changes.append(threads.takeChanges())
        }
        await test.stop(running)
        // A busy machine adds threads, so a low percentile is checked. The threads are those of journal, partition and
        // worker: two changes.
        #expect(changes.sorted()[changes.count / 10] <= 2, "\(changes)")
    }
}
