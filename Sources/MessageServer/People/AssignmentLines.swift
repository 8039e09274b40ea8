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
        /// The conversations with a line that is being recorded: a later one must not come before it.
        var inFlight: Set<ConversationID> = []
        var isRetrying = false

        /// Begins to record the waiting lines; false when there are none, or it has begun.
        mutating func begin() -> Bool {
            if isRetrying || waiting.isEmpty { return false }
            isRetrying = true
            return true
        }

        /// Returns the next waiting line; nil after the last, and behind a line of the same conversation.
        mutating func next() -> Line? {
            if let line = waiting.popFirst() {
                if !inFlight.contains(line.conversation) { return line }
                waiting.prepend(line)
            }
            isRetrying = false
            return nil
        }
    }

    private let append: @Sendable (Line, @escaping AppendCompletion) -> Void
    private let state = Mutex(State())
    /// The number of waiting lines above which the oldest are forgotten.
    static let maximumWaiting = 10_000

    /// Creates a recorder that appends with `append`, which answers once.
    init(append: @escaping @Sendable (Line, @escaping AppendCompletion) -> Void) { self.append = append }

    /// Records a line; returns at once.
    func record(_ line: Line) {
        let isFirst = state.withLock { state in
            if state.waiting.isEmpty, !state.isRetrying, state.inFlight.insert(line.conversation).inserted {
                return true
            }
            Self.add(line, to: &state)
            return false
        }
        guard isFirst else { return }
        append(line) { [weak self] result in
            self?.state.withLock { state in
                state.inFlight.remove(line.conversation)
                guard case .failed(let error) = result, error.isTransient else { return }
                if state.waiting.count < Self.maximumWaiting { state.waiting.prepend(line) }
            }
        }
    }

    /// Records the waiting lines, until one is refused again.
    func retry() async {
        guard state.withLock({ $0.begin() }) else { return }
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
