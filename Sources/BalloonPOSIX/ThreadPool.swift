import CLinux
import Dispatch
import Glibc
import Synchronization

/// The process's threads for work that may block: one thread for each running closure, without a limit.
///
/// Invariant: a submitted closure runs at once, on an idle thread or on a new thread; the callers limit their
/// number. The thread that became idle last is woken first. A thread that was idle for ten seconds ends.
///
/// Dispatch would not do: it has 255 threads for all serial queues together, so 255 handlers that never
/// return would leave no thread for the journal. Only ``SharedThreads`` and ``DeadlineThread`` use this pool.
final class ThreadPool: Sendable {
    static let shared = ThreadPool()

    private final class Worker: Sendable {
        let work: Mutex<(@Sendable () -> Void)?>
        let wake = DispatchSemaphore(value: 0)

        init(_ work: @escaping @Sendable () -> Void) { self.work = Mutex(work) }
    }

    private let idle = Mutex<[Worker]>([])
    private static let patience = DispatchTimeInterval.seconds(10)

    /// Runs `work` on a thread that does nothing else until `work` returns.
    func run(_ work: @escaping @Sendable () -> Void) {
        guard let worker = idle.withLock({ $0.popLast() }) else { return start(work) }
        worker.work.withLock { $0 = work }
        worker.wake.signal()
    }

    private func start(_ work: @escaping @Sendable () -> Void) {
        let argument = unsafe Unmanaged.passRetained(Worker(work))
        var thread = pthread_t()
        // Sound: the new thread releases the one reference that is passed to it; if no thread starts, the
        // code below does.
        let failure = unsafe pthread_create(
            &thread, nil,
            { argument in
                guard let argument = unsafe argument else { return nil }
                ThreadPool.blockSignals()
                ThreadPool.shared.serve(unsafe Unmanaged<Worker>.fromOpaque(argument).takeRetainedValue())
                return nil
            }, argument.toOpaque())
        if failure == 0 {
            pthread_detach(thread)
        } else {
            // If the system refuses another thread, run the work on one of Dispatch's threads.
            unsafe argument.release()
            DispatchQueue.global().async(execute: work)
        }
    }

    private func serve(_ worker: Worker) {
        while true {
            let work = worker.work.withLock { work in
                defer { work = nil }
                return work
            }
            work?()
            idle.withLock { $0.append(worker) }
            if worker.wake.wait(timeout: .now() + Self.patience) == .success { continue }
            let isOver = idle.withLock { idle in
                guard let index = idle.firstIndex(where: { $0 === worker }) else { return false }
                idle.remove(at: index)
                return true
            }
            if isOver { return }
            // `run` has just removed this worker from `idle`, and signals it after storing the work.
            worker.wake.wait()
        }
    }

    /// Blocks all signals on this thread, except those of faults, so that signals reach the Dispatch sources
    /// for them.
    ///
    /// Dispatch's own threads block signals in the same way.
    private static func blockSignals() {
        var signals = sigset_t()
        unsafe sigfillset(&signals)
        for signal in [SIGILL, SIGTRAP, SIGBUS, SIGFPE, SIGSEGV, SIGSYS, SIGPIPE] {
            unsafe sigdelset(&signals, signal)
        }
        unsafe pthread_sigmask(SIG_BLOCK, &signals, nil)
    }
}
