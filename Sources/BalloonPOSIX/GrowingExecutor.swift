import Dispatch
import Synchronization

/// Runs the jobs of tasks that prefer it, on one thread as long as that keeps up, and on more when it does not.
///
/// For tasks that wait for the disk, and for handlers that may block: neither may hold a thread of the cooperative pool.
/// When what waited has not all begun two milliseconds later there are twice as many threads, up to a bound: a job that
/// blocks costs those behind it that time, and quick ones cost no thread's waking. With a bound of one, jobs run one
/// after the other in the order in which they came.
package final class GrowingExecutor: TaskExecutor {
    private struct State {
        private var jobs: [UnownedJob] = []
        private var first = 0
        var waiting: Int { jobs.count - first }
        /// How many jobs were begun, and how many there were when somebody last looked.
        var begun = 0
        var due = 0
        var isLooking = false
        /// How many threads run jobs.
        var running = 0

        mutating func append(_ job: UnownedJob) { jobs.append(job) }

        mutating func popFirst() -> UnownedJob? {
            guard first < jobs.count else { return nil }
            let job = jobs[first]
            first += 1
            // Moving the rest is paid for by those that left before.
            if first * 2 >= jobs.count {
                jobs.removeFirst(first)
                first = 0
            }
            return job
        }
    }

    private let maximumThreads: Int
    private let state = Mutex(State())
    private static let patience = DispatchTimeInterval.milliseconds(2)

    /// Makes an executor of at most so many threads at a time.
    package init(maximumThreads: Int = 1) { self.maximumThreads = max(1, maximumThreads) }

    /// Runs `job` after those that were enqueued before it have begun.
    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let (starts, looks) = state.withLock { state in
            state.append(job)
            if state.running == 0 {
                state.running = 1
                return (true, false)
            }
            if state.isLooking || state.running == maximumThreads { return (false, false) }
            state.isLooking = true
            state.due = state.begun + state.waiting
            return (false, true)
        }
        if starts { start() }
        if looks { lookLater() }
    }

    private func lookLater() {
        DispatchQueue.global().asyncAfter(deadline: .now() + Self.patience) { self.look() }
    }

    /// Sees whether what waited the last time has begun.
    private func look() {
        let (more, looks) = state.withLock { state in
            let isLate = state.begun < state.due
            let more = isLate ? min(state.running, state.waiting, maximumThreads - state.running) : 0
            state.running += more
            state.due = state.begun + state.waiting
            state.isLooking = state.waiting > 0 && state.running < maximumThreads
            return (more, state.isLooking)
        }
        for _ in 0..<more { start() }
        if looks { lookLater() }
    }

    private func start() {
        ThreadPool.shared.run {
            // As the task's executor and no actor's: otherwise every call of an async function is enqueued anew.
            while let job = self.next() { unsafe job.runSynchronously(on: self.asUnownedTaskExecutor()) }
        }
    }

    private func next() -> UnownedJob? {
        state.withLock { state in
            let job = state.popFirst()
            if job == nil { state.running -= 1 } else { state.begun += 1 }
            return job
        }
    }
}
