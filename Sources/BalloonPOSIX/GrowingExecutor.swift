import Dispatch
import Synchronization

/// Runs the jobs of tasks that prefer it on as few threads as do, each with a serial Dispatch queue of its own.
///
/// For handlers that may block: one thread runs what comes as long as it keeps up; when what waited has not all begun two
/// milliseconds later, there are twice as many, up to a bound. So a job that blocks costs those behind it that time, and
/// quick ones cost no thread's waking.
package final class GrowingExecutor: TaskExecutor {
    private struct State {
        /// No more than calls that are under way, so that taking the first moves little.
        var jobs: [UnownedJob] = []
        /// How many jobs were begun, and how many there were when somebody last looked.
        var begun = 0
        var due = 0
        var isLooking = false
        var running = 0
        var idle: [DispatchQueue] = []
        var made = 0
    }

    private let label: String
    private let maximumThreads: Int
    private let state = Mutex(State())
    private static let patience = DispatchTimeInterval.milliseconds(2)

    /// Makes an executor of at most so many threads, whose queues bear `label`.
    package init(label: String, maximumThreads: Int) {
        self.label = label
        self.maximumThreads = max(1, maximumThreads)
    }

    /// Runs `job` after those that were enqueued before it have begun.
    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let (queue, looks) = state.withLock { state -> (DispatchQueue?, Bool) in
            state.jobs.append(job)
            if state.running == 0 { return (takeQueue(&state), false) }
            defer { state.isLooking = true }
            if !state.isLooking { state.due = state.begun + state.jobs.count }
            return (nil, !state.isLooking)
        }
        if let queue { run(on: queue) }
        if looks { lookLater() }
    }

    private func lookLater() {
        DispatchQueue.global().asyncAfter(deadline: .now() + Self.patience) { self.look() }
    }

    /// Sees whether what waited the last time has begun.
    private func look() {
        let (queues, looks) = state.withLock { state -> ([DispatchQueue], Bool) in
            var queues: [DispatchQueue] = []
            if state.begun < state.due {
                let more = min(state.running, state.jobs.count, maximumThreads - state.running)
                for _ in 0..<max(0, more) { queues.append(takeQueue(&state)) }
            }
            state.due = state.begun + state.jobs.count
            state.isLooking = !state.jobs.isEmpty && state.running < maximumThreads
            return (queues, state.isLooking)
        }
        for queue in queues { run(on: queue) }
        if looks { lookLater() }
    }

    private func takeQueue(_ state: inout State) -> DispatchQueue {
        state.running += 1
        if let queue = state.idle.popLast() { return queue }
        state.made += 1
        return DispatchQueue(label: "\(label).\(state.made)")
    }

    private func run(on queue: DispatchQueue) {
        queue.async {
            while let job = self.next(queue) { unsafe job.runSynchronously(on: self.asUnownedTaskExecutor()) }
        }
    }

    private func next(_ queue: DispatchQueue) -> UnownedJob? {
        state.withLock { state in
            if !state.jobs.isEmpty {
                state.begun += 1
                return state.jobs.removeFirst()
            }
            state.running -= 1
            state.idle.append(queue)
            return nil
        }
    }
}
