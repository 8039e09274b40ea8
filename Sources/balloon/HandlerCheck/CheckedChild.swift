import HandlerBridges
import Synchronization

/// The child process that a check currently runs, and whether the check was cancelled.
final class CheckedChild: Sendable {
    private struct State {
        var session: ChildSession?
        var isEnded = false
    }

    private let state = Mutex(State())

    var isEnded: Bool { state.withLock { $0.isEnded } }

    /// Replaces the previous child, which has ended.
    func replace(with session: ChildSession) { state.withLock { $0.session = session } }

    /// Cancels the check: kills the child and all processes that it started.
    func end() async {
        let session = state.withLock { state in
            state.isEnded = true
            return state.session
        }
        await session?.kill()
    }
}
