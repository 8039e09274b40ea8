import Dispatch
import Synchronization

/// Calls a function when a time has passed, on a thread of its own: no blocked queue and no blocked pool delays it.
package final class DeadlineThread: Sendable {
    private let cancellation = DispatchSemaphore(value: 0)

    /// Starts the thread; `expire` is called once, unless ``cancel()`` comes first.
    package init(after time: Duration, _ expire: @escaping @Sendable () -> Void) {
        let nanoseconds = max(0, min(time / .nanoseconds(1), 1e18))
        let deadline = DispatchTime.now() + .nanoseconds(Int(nanoseconds))
        ThreadPool.shared.run { [cancellation] in
            if cancellation.wait(timeout: deadline) == .timedOut { expire() }
        }
    }

    /// Ends the thread before its time.
    package func cancel() { cancellation.signal() }
}

extension Task where Failure == Never {
    /// The value, or nil when there is none within `time`; a task that ignores its cancellation holds up nobody.
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
