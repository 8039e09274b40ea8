import BusinessMessages
import MessageStore
import Synchronization

/// Delivers the outcome of a proactive message to the callers that wait for it.
final class SendOutcomes: Sendable {
    private struct Waiter {
        let continuation: AsyncStream<ReplyResult>.Continuation
        let endsWithStop: Bool
    }

    private struct State {
        /// The waiting callers of each message, each under the number of its registration.
        var waiting: [MessageID: [UInt64: Waiter]] = [:]
        var count = 0
        var last: UInt64 = 0
        var isStopping = false
    }

    private let state = Mutex(State())
    /// The maximum number of waiting callers; any further caller gets an unknown outcome at once.
    private static let maximumWaiting = 4096

    /// Calls `begin`, and waits for the outcome of the message unless `begin` returns it.
    ///
    /// `begin` sends the message or finds its outcome. Returns nil when the outcome stays unknown for
    /// `duration`. Any number of callers may wait for one message. `willWait` is called before the wait. With
    /// `endsWithStop`, ``stopWaiting()`` ends the wait. Rethrows errors of `begin`.
    func outcome(
        of id: MessageID, within duration: Duration, endsWithStop: Bool = false,
        willWait: @Sendable () -> Void = {},
        _ begin: @Sendable () async throws -> ReplyResult?
    ) async throws -> ReplyResult? {
        // Register before sending, so that this caller does not miss the outcome.
        let waiter = add(id, endsWithStop)
        defer { remove(id, waiter?.number) }
        if let known = try await begin() { return known }
        guard let stream = waiter?.stream, duration > .zero else { return nil }
        willWait()
        return await withTimeLimit(duration) { await stream.first { _ in true } } ?? nil
    }

    private func add(_ id: MessageID, _ endsWithStop: Bool) -> (
        number: UInt64, stream: AsyncStream<ReplyResult>
    )? {
        let (stream, continuation) = AsyncStream.makeStream(
            of: ReplyResult.self, bufferingPolicy: .bufferingNewest(1))
        return state.withLock { state in
            guard state.count < Self.maximumWaiting, !(state.isStopping && endsWithStop) else { return nil }
            state.count += 1
            state.last += 1
            state.waiting[id, default: [:]][state.last] = Waiter(
                continuation: continuation, endsWithStop: endsWithStop)
            return (state.last, stream)
        }
    }

    private func remove(_ id: MessageID, _ number: UInt64?) {
        guard let number else { return }
        state.withLock { state in
            guard state.waiting[id]?.removeValue(forKey: number) != nil else { return }
            state.count -= 1
            if state.waiting[id]?.isEmpty ?? false { state.waiting[id] = nil }
        }
    }

    /// Resumes all waiting callers without an outcome.
    func cancelAll() {
        let waiting = state.withLock { state in
            defer { (state.waiting, state.count) = ([:], 0) }
            return state.waiting.values
        }
        for waiters in waiting { for waiter in waiters.values { waiter.continuation.finish() } }
    }

    /// Resumes, without an outcome, the callers whose wait ends with a stop of the server.
    func stopWaiting() {
        let ended = state.withLock { state in
            state.isStopping = true
            return state.waiting.values.flatMap(\.values).filter(\.endsWithStop)
        }
        for waiter in ended { waiter.continuation.finish() }
    }

    /// Resumes the callers that wait for the outcome of a message.
    func settle(_ id: MessageID, _ result: ReplyResult) {
        let waiting = state.withLock { state in
            let waiting = state.waiting.removeValue(forKey: id) ?? [:]
            state.count -= waiting.count
            return waiting.values
        }
        for waiter in waiting { waiter.continuation.yield(result) }
    }
}
