import Dispatch
import Synchronization

/// A watchdog: calls a function when a time has passed, on a thread of its own.
///
/// Invariant: the function is called once or, after ``cancel()``, never, and no blocked queue or pool delays it. It costs a
/// thread, so it is for the few waits that must end whatever hangs: a stop, a crash report. The deadlines of handlers' calls,
/// thousands a second, are one Dispatch timer instead (`CallDeadlines`), and those of connections a wheel (`TimerWheel`).
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
    /// The value, or nil when there is none within `time`; a task that ignores its cancellation delays no caller.
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
