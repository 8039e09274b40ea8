import BalloonPOSIX
import BusinessMessages
import MessageStore
import Synchronization

/// Records each change of who answers as a line of its conversation.
///
/// The store knows the changes without a line, so after a refusal, such as that of a full disk, they are recorded in order, and
/// the next process records those of one that ended.
final class AssignmentLines: Sendable {
    private struct State {
        /// Whether a line was refused, and none has been recorded since.
        var isRefused = false
        /// Whether a retry will begin after ``AssignmentLines/pause``.
        var isScheduled = false
    }

    /// The pause before refused lines are tried again.
    static let pause = Duration.milliseconds(200)
    /// Runs a function after ``pause``.
    typealias Timer = @Sendable (@escaping @Sendable () -> Void) -> Void

    private let later: Timer
    private let unrecorded: @Sendable () -> [Store.AssignedConversation]
    private let append: @Sendable (Store.AssignedConversation, @escaping AppendCompletion) -> Void
    private let state = Mutex(State())

    /// Creates a recorder that appends with `append`, which answers once, and appends what is still `unrecorded` by `later`.
    init(
        later: @escaping Timer, unrecorded: @escaping @Sendable () -> [Store.AssignedConversation],
        append: @escaping @Sendable (Store.AssignedConversation, @escaping AppendCompletion) -> Void
    ) {
        (self.later, self.unrecorded, self.append) = (later, unrecorded, append)
    }

    /// Records a change; returns at once.
    func record(_ change: Store.AssignedConversation) {
        // The retry records this one behind those before it.
        if !state.withLock(\.isRefused) { begin(change) }
    }

    private func begin(_ change: Store.AssignedConversation) {
        append(change) { [weak self] result in
            if case .failed(let error) = result, error.isTransient { self?.retryLater() }
        }
    }

    private func retryLater() {
        let begins = state.withLock { state in
            defer { state = State(isRefused: true, isScheduled: true) }
            return !state.isScheduled
        }
        guard begins else { return }
        later { [weak self] in self?.retry() }
    }

    private func retry() {
        state.withLock { $0.isScheduled = false }
        for change in unrecorded() {
            begin(change)
            // A full disk or journal would refuse the others, too.
            if state.withLock(\.isScheduled) { return }
        }
        let isDone = state.withLock { state in
            state.isRefused = state.isScheduled
            return !state.isRefused
        }
        // Those that came meanwhile; the store knows the others.
        if isDone { for change in unrecorded() { begin(change) } }
    }
}
