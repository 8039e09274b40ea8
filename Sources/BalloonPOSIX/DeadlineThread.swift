import Dispatch
import Synchronization

/// A watchdog: a thread that calls a function when a time has passed.
///
/// Invariant: the function is called once, or never after ``cancel()``; a blocked queue or thread pool cannot
/// delay the call. Each deadline occupies a thread, so use it only for the few waits that must end even when
/// everything else hangs: a stop, a crash report. Two other types serve the frequent deadlines:
/// `CallDeadlines` the calls of handlers, with one Dispatch timer, and `TimerWheel` the connections.
package final class DeadlineThread: Sendable {
    private let cancellation = DispatchSemaphore(value: 0)

    /// Starts the thread; it calls `expire` once, unless ``cancel()`` is called first.
    package init(after time: Duration, _ expire: @escaping @Sendable () -> Void) {
        let deadline = DispatchTime.now() + max(.zero, time).dispatchInterval
        ThreadPool.shared.run { [cancellation] in
            if cancellation.wait(timeout: deadline) == .timedOut { expire() }
        }
    }

    /// Ends the thread without calling `expire`.
    package func cancel() { cancellation.signal() }
}

extension Task where Failure == Never {
    /// Waits at most `time` for the value; returns nil when the task has not ended by then.
    ///
    /// The wait ends on time even when the task ignores cancellation. The task is not cancelled.
    package func value(within time: Duration) async -> Success? {
        let isDecided = OnceFlag()
        return await withCheckedContinuation { continuation in
            let deadline = DeadlineThread(after: time) {
                if isDecided.claim() { continuation.resume(returning: nil) }
            }
            Task<Void, Never> {
                let value = await self.value
                guard isDecided.claim() else { return }
                deadline.cancel()
                continuation.resume(returning: value)
            }
        }
    }
}
