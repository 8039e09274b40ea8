import BusinessMessages
import MessageStore
import Synchronization

/// Returns the result of a proactive message to the callers that wait for it.
final class SendOutcomes: Sendable {
    private let waiting = Mutex<[MessageID: AsyncStream<ReplyResult>.Continuation]>([:])

    /// Sends a message with `send` and returns its outcome; nil when the outcome is not known within `duration`.
    ///
    /// Rethrows errors of `send`.
    func outcome(
        of id: MessageID, within duration: Duration, _ send: @Sendable () async throws -> Void
    ) async throws -> ReplyResult? {
        let (stream, continuation) = AsyncStream.makeStream(
            of: ReplyResult.self, bufferingPolicy: .bufferingNewest(1))
        // Registered before sending, so that the outcome is not missed.
        waiting.withLock { $0[id] = continuation }
        defer { waiting.withLock { $0[id] = nil } }
        try await send()
        return await withTaskGroup { group in
            group.addTask { await stream.first { _ in true } }
            group.addTask {
                // An outcome that arrives first cancels this sleep.
                try? await Task.sleep(for: duration)
                return nil
            }
            let first = await group.next()
            group.cancelAll()
            return first ?? nil
        }
    }

    /// Resumes all waiting callers, for which the outcome stays unknown.
    func cancelAll() {
        let waiting = waiting.withLock { waiting in
            defer { waiting = [:] }
            return waiting.values
        }
        for continuation in waiting { continuation.finish() }
    }

    /// Resumes the caller that waits for the outcome of a message.
    func settle(_ id: MessageID, _ result: ReplyResult) {
        waiting.withLock { $0.removeValue(forKey: id) }?.yield(result)
    }
}
