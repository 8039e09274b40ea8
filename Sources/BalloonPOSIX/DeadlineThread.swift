import Dispatch
import Synchronization

/// A watchdog: calls a function when a time has passed, on a thread of its own.
///
/// Invariant: the function is called once or, after ``cancel()``, never, and no blocked queue or pool delays
/// the call. Each deadline costs a thread, so use it only for the few waits that must end even when
/// everything else hangs: a stop, a crash report. The deadlines of handlers' calls, thousands per second,
/// share one Dispatch timer instead (`CallDeadlines`), and those of connections a timer wheel (`TimerWheel`).
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
    /// Waits for the value, at most `time`; nil when the task has not ended by then, even if it ignores
    /// cancellation.
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
