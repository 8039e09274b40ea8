import BalloonPOSIX
import BusinessMessages
import MessageStore
import Synchronization

/// Records each change of who answers as a line of its conversation; those that the disk refused are recorded later, in order.
final class AssignmentLines: Sendable {
    /// A change that becomes a line.
    struct Line: Sendable {
        let assignment: Assignment
        let id: MessageID
        let conversation: ConversationID
    }

    private struct State {
        /// The lines that were refused, and those behind them.
        var waiting = Deque<Line>()
        var isRetrying = false
        /// Whether a retry will begin after ``AssignmentLines/pause``.
        var isScheduled = false

        /// Begins to record the waiting lines; false when there are none, or it has begun.
        mutating func begin() -> Bool {
            if isRetrying || waiting.isEmpty { return false }
            isRetrying = true
            return true
        }

        /// Returns the next waiting line; nil after the last.
        mutating func next() -> Line? {
            let line = waiting.popFirst()
            if line == nil { isRetrying = false }
            return line
        }
    }

    /// The pause before refused lines are tried again.
    static let pause = Duration.milliseconds(200)
    /// Runs a function after ``pause``.
    typealias Timer = @Sendable (@escaping @Sendable () -> Void) -> Void

    private let later: Timer
    private let append: @Sendable (Line, @escaping AppendCompletion) -> Void
    private let state = Mutex(State())
    /// The number of waiting lines above which the oldest are forgotten.
    static let maximumWaiting = 10_000

    /// Creates a recorder that appends with `append`, which answers once, and tries again by `later`.
    init(later: @escaping Timer, append: @escaping @Sendable (Line, @escaping AppendCompletion) -> Void) {
        (self.later, self.append) = (later, append)
    }

    /// Records a line; returns at once.
    func record(_ line: Line) {
        let isFirst = state.withLock { state in
            if state.waiting.isEmpty, !state.isRetrying { return true }
            Self.add(line, to: &state)
            return false
        }
        guard isFirst else { return retryLater() }
        append(line) { [weak self] result in
            guard case .failed(let error) = result, error.isTransient else { return }
            self?.state.withLock { Self.add(line, to: &$0) }
            self?.retryLater()
        }
    }

    private func retryLater() {
        let begins = state.withLock { state in
            if state.waiting.isEmpty || state.isRetrying || state.isScheduled { return false }
            state.isScheduled = true
            return true
        }
        guard begins else { return }
        later { [weak self] in
            guard let self else { return }
            self.state.withLock { $0.isScheduled = false }
            Task { await self.retry() }
        }
    }

    /// Records the waiting lines, until one is refused again.
    func retry() async {
        guard state.withLock({ $0.begin() }) else { return }
        defer { retryLater() }
        while let line = state.withLock({ $0.next() }) {
            let result = await withCheckedContinuation { continuation in
                append(line) { continuation.resume(returning: $0) }
            }
            guard case .failed(let error) = result, error.isTransient else { continue }
            return state.withLock { state in
                state.waiting.prepend(line)
                state.isRetrying = false
            }
        }
    }

    private static func add(_ line: Line, to state: inout State) {
        if state.waiting.count == maximumWaiting { _ = state.waiting.popFirst() }
        state.waiting.append(line)
    }
}
