import HandlerBridges
import Synchronization

/// The child that a check looks at now; none is started any more once the check is cut short.
final class CheckedChild: Sendable {
    private struct State {
        var session: ChildSession?
        var isEnded = false
    }

    private let state = Mutex(State())

    var isEnded: Bool { state.withLock { $0.isEnded } }

    /// Takes the place of the one before, which has ended.
    func replace(with session: ChildSession) { state.withLock { $0.session = session } }

    /// Kills it and all that it started.
    func end() async {
        let session = state.withLock { state in
            state.isEnded = true
            return state.session
        }
        await session?.kill()
    }
}
