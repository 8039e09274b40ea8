import Dispatch
import Synchronization

/// Threads that the jobs of several ``BlockingTaskExecutor``s share: one while it keeps up, more when jobs block.
///
/// Invariant: a job that blocks delays others by four milliseconds at most. Every two milliseconds, if jobs that waited at the
/// look before have not all begun, threads are added until as many run as there are processors; a thread that has been at
/// the same job since then counts as blocked. Threads come from `ThreadPool` and return to it when there are no jobs.
///
/// It exists because waking a thread costs more than most jobs: a delivery and its handler's call, which are jobs of
/// two executors, run on one thread here as long as neither blocks. `ThreadPool` alone would wake one for each.
package final class SharedThreads: Sendable {
    fileprivate struct Queue {
        let maximumThreads: Int
        /// The executor of the jobs, which its tasks keep alive.
        unowned var executor: BlockingTaskExecutor?
        var jobs = Deque<UnownedJob>()
        var running = 0
        /// The number of jobs that are due but exceed the executor's limit.
        var heldUp = 0

        /// Counts a job that begins, and returns its executor; nil when it must wait for another to end.
        mutating func beginNext() -> BlockingTaskExecutor? {
            guard running < maximumThreads else {
                heldUp += 1
                return nil
            }
            running += 1
            return executor
        }

        /// Counts an ended job; returns whether a delayed one is due now.
        mutating func endOne() -> Bool {
            running -= 1
            guard heldUp > 0 else { return false }
            heldUp -= 1
            return true
        }
    }

    fileprivate struct State {
        var queues: [Queue?] = []
        /// The order of the jobs: the place of each job's queue.
        var turns = Deque<Int>()
        /// The number of each thread's job at its beginning; nil where there is no thread.
        var threads: [Int?] = []
        var threadCount = 0
        /// The maximum number of threads.
        var maximumThreads = 0
        /// The number of started jobs.
        var begun = 0
        /// The number of started jobs at the last check, and the same together with the jobs that waited then.
        var begunBefore = 0
        var due = 0
        var isLooking = false
        /// The number of threads that must end, because threads that were blocked run again.
        var leaving = 0
    }

    private let state = Mutex(State())
    private static let processors = ProcessorCount.available()
    private static let patience = DispatchTimeInterval.milliseconds(2)

    /// Creates a group without threads; they are created for jobs and end without jobs.
    package init() {}

    func addQueue(maximumThreads: Int) -> Int {
        state.withLock { state in
            state.maximumThreads += maximumThreads
            let queue = Queue(maximumThreads: maximumThreads)
            guard let free = state.queues.firstIndex(where: { $0 == nil }) else {
                state.queues.append(queue)
                return state.queues.count - 1
            }
            state.queues[free] = queue
            return free
        }
    }

    func removeQueue(_ place: Int) {
        state.withLock { state in
            state.maximumThreads -= state.queues[place]?.maximumThreads ?? 0
            state.queues[place] = nil
        }
    }

    func enqueue(_ job: UnownedJob, of executor: BlockingTaskExecutor) {
        let (thread, looks) = state.withLock { state -> (Int?, Bool) in
            state.append(job, of: executor)
            if state.threadCount == 0 { return (state.addThread(), false) }
            guard !state.isLooking, state.maximumThreads > 1 else { return (nil, false) }
            state.isLooking = true
            state.recordProgress()
            return (nil, true)
        }
        if let thread { start(thread) }
        if looks { lookLater() }
    }

    private func lookLater() {
        DispatchQueue.global().asyncAfter(deadline: .now() + Self.patience) { self.look() }
    }

    /// Checks whether the jobs that waited at the last check have started.
    private func look() {
        let (threads, looks) = state.withLock { state -> ([Int], Bool) in
            let missing = state.missingThreads(processors: Self.processors)
            let threads = (0..<missing).map { _ in state.addThread() }
            state.recordProgress()
            state.isLooking = !state.turns.isEmpty
            return (threads, state.isLooking)
        }
        for thread in threads { start(thread) }
        if looks { lookLater() }
    }

    private func start(_ thread: Int) {
        ThreadPool.shared.run {
            var last: BlockingTaskExecutor?
            while let (job, executor) = self.next(on: thread, after: last) {
                // Passed as a task executor, not an actor's: otherwise every call of an async function would
                // be enqueued.
                unsafe job.runSynchronously(on: executor.asUnownedTaskExecutor())
                last = executor
            }
        }
    }

    /// The next job for a thread that ran one of `last`; nil when the thread must end.
    private func next(
        on thread: Int, after last: BlockingTaskExecutor?
    ) -> (job: UnownedJob, executor: BlockingTaskExecutor)? {
        state.withLock { state in
            if let last { state.end(at: last.place) }
            let next = state.begin(on: thread)
            if next == nil { state.removeThread(thread) }
            return next
        }
    }
}

extension SharedThreads.State {
    fileprivate mutating func append(_ job: UnownedJob, of executor: BlockingTaskExecutor) {
        queues[executor.place]?.executor = executor
        queues[executor.place]?.jobs.append(job)
        turns.append(executor.place)
    }

    fileprivate mutating func addThread() -> Int {
        threadCount += 1
        // The thread has no job yet, so it does not count as blocked.
        guard let free = threads.firstIndex(where: { $0 == nil }) else {
            threads.append(.max)
            return threads.count - 1
        }
        threads[free] = .max
        return free
    }

    fileprivate mutating func removeThread(_ thread: Int) {
        threadCount -= 1
        threads[thread] = nil
    }

    /// Removes the next job for a thread; nil when there is none, or too many threads run.
    fileprivate mutating func begin(on thread: Int) -> (job: UnownedJob, executor: BlockingTaskExecutor)? {
        // Only while the next look is scheduled, which sees when the others block after all.
        if leaving > 0, isLooking {
            leaving -= 1
            return nil
        }
        while let place = turns.popFirst() {
            guard let executor = queues[place]?.beginNext() else { continue }
            begun += 1
            threads[thread] = begun
            return queues[place]?.jobs.popFirst().map { ($0, executor) }
        }
        return nil
    }

    /// Counts the end of a job of a queue, and enqueues a turn that was held up.
    fileprivate mutating func end(at place: Int) {
        if queues[place]?.endOne() ?? false { turns.append(place) }
    }

    fileprivate mutating func recordProgress() {
        begunBefore = begun
        due = begun + turns.count
    }

    /// The number of threads to add when waiting jobs have not all started since the last check.
    fileprivate mutating func missingThreads(processors: Int) -> Int {
        let blocked = threads.count { thread in thread.map { $0 <= begunBefore } ?? false }
        let active = threadCount - blocked
        leaving = max(0, active - processors)
        guard begun < due else { return 0 }
        // Replace all blocked threads at once.
        let wanted = active == 0 ? max(processors, blocked) : processors
        return max(0, min(wanted - active, turns.count, maximumThreads - threadCount))
    }
}
