import BusinessMessages
import Synchronization

/// The waits of deliveries for their handler; a wait ends early when a person takes the conversation.
final class HandlerWaits: Sendable {
    private struct State {
        var lastNumber: UInt64 = 0
        var waits: [ConversationID: [UInt64: @Sendable () -> Void]] = [:]
    }

    private let state = Mutex(State())

    /// Runs `wait` in a task; the end of the caller's task and ``end(in:)`` cancel the task.
    func run<Result: Sendable>(
        in conversation: ConversationID, _ wait: @escaping @Sendable () async throws -> Result
    ) async throws -> Result {
        let task = Task { try await wait() }
        let number = state.withLock { state in
            state.lastNumber += 1
            state.waits[conversation, default: [:]][state.lastNumber] = { task.cancel() }
            return state.lastNumber
        }
        defer {
            state.withLock { state in
                state.waits[conversation]?[number] = nil
                if state.waits[conversation]?.isEmpty == true { state.waits[conversation] = nil }
            }
        }
        return try await withTaskCancellationHandler {
            try await task.value
        } onCancel: {
            task.cancel()
        }
    }

    /// Cancels the waits of a conversation.
    func end(in conversation: ConversationID) {
        let waits = state.withLock { $0.waits[conversation].map { Array($0.values) } ?? [] }
        for cancel in waits { cancel() }
    }
}
