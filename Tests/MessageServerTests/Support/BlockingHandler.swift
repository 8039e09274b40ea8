import Glibc
import HandlerKit
import Synchronization

/// Blocks its thread at the first attempt of a text `block`, until it is released; answers everything else.
final class BlockingHandler: TextHandler {
    private let isReleased = Atomic(false)
    private let blocked = Mutex<(count: Int, waiters: [(Int, CheckedContinuation<Void, Never>)])>((0, []))

    func text(_ text: Text, _ context: Context) -> Outcome {
        guard text.body == "block", context.attempt == 1 else { return .reply("answered") }
        let ready = blocked.withLock { state in
            state.count += 1
            let ready = state.waiters.filter { $0.0 <= state.count }
            state.waiters.removeAll { $0.0 <= state.count }
            return ready
        }
        for (_, waiter) in ready { waiter.resume() }
        while !isReleased.load(ordering: .relaxed) { usleep(1000) }
        return .handled
    }

    func release() { isReleased.store(true, ordering: .relaxed) }

    func waitForBlocked(_ count: Int) async {
        await withCheckedContinuation { continuation in
            let isThere = blocked.withLock { state in
                if state.count >= count { return true }
                state.waiters.append((count, continuation))
                return false
            }
            if isThere { continuation.resume() }
        }
    }
}
