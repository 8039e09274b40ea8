import Glibc
import HandlerKit
import Synchronization
import TestSupport
import Testing

/// Blocks its thread at the first attempt of a text `block`, until it is released; answers everything else.
final class BlockingHandler: TextHandler {
    private let isReleased = Atomic(false)
    private let blocked = EventCollector<Void>()

    func text(_ text: Text, _ context: Context) -> Outcome {
        guard text.body == "block", context.attempt == 1 else { return .reply("answered") }
        blocked.append(())
        while !isReleased.load(ordering: .relaxed) { usleep(1000) }
        return .handled
    }

    func release() { isReleased.store(true, ordering: .relaxed) }

    /// Waits until this many texts block; the test fails when they do not within ``WaitLimit``.
    func waitForBlocked(_ count: Int, _ location: SourceLocation = #_sourceLocation) async {
        await blocked.count(count, location) { _ in true }
    }
}
