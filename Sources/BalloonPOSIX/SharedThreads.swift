import Glibc
import Synchronization

/// Threads that run the jobs of several ``BlockingTaskExecutor``s: one thread as long as jobs do not have to
/// wait, more threads when jobs block.
///
/// Invariant: a job that blocks delays other jobs by at most 4 ms. While jobs wait, a check runs every 2 ms.
/// If a job that waited at the previous check has not begun, the check adds threads until there is one
/// unblocked thread for each processor. A thread that has run the same job since the previous check counts as
/// blocked. Threads come from `ThreadPool` and return to it when there are no jobs.
///
/// Sharing saves wake-ups, because waking a thread costs more than most jobs. For example, a delivery and the
/// call of its handler are jobs of two executors. As long as neither blocks, both run on one thread here;
/// `ThreadPool` alone would wake a thread for each.
package final class SharedThreads: Sendable {
    fileprivate struct Queue {
        let maximumThreads: Int
        /// The executor of the jobs; the tasks of these jobs keep it alive.
        unowned var executor: BlockingTaskExecutor?
        var jobs = Deque<UnownedJob>()
        var running = 0
        /// The number of jobs that were next in `turns` while the executor already ran its maximum number of
        /// jobs.
        var heldUp = 0

        /// Counts a job that begins, and returns its executor.
        ///
        /// Returns nil when the maximum number of jobs runs, so that the job must wait until one of them
        /// ends.
        mutating func beginNext() -> BlockingTaskExecutor? {
            guard running < maximumThreads else {
                heldUp += 1
                return nil
            }
            running += 1
            return executor
        }

        /// Counts an ended job; returns whether a job that had to wait may begin now.
        mutating func endOne() -> Bool {
            running -= 1
            guard heldUp > 0 else { return false }
            heldUp -= 1
            return true
        }
    }

    fileprivate struct State {
        var queues: [Queue?] = []
        /// The waiting jobs in the order of arrival: for each job, the index of its queue.
        var turns = Deque<Int>()
        /// For each thread, the value of `begun` when its current job began; nil for an unused index.
        var threads: [Int?] = []
        var threadCount = 0
        /// The maximum number of threads.
        var maximumThreads = 0
        /// The number of started jobs.
        var begun = 0
        /// The value of `begun` at the last check.
        var begunBefore = 0
        /// The value that `begun` reaches when all jobs that waited at the last check have begun.
        var due = 0
        var isLooking = false
        /// The number of surplus threads that must end, because threads that were blocked run again.
        var leaving = 0
    }

    private let state = Mutex(State())
    private static let processors = ProcessorCount.available()
    /// Creates an object without threads; threads start when jobs arrive, and end when no jobs are left.
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
            return (nil, true)
        }
        if let thread { start(thread) }
        if looks { ThreadChecks.shared.add(self) }
    }

    /// Remembers the jobs that wait now, for the next check.
    fileprivate func beginLooking() { state.withLock { $0.recordProgress() } }

    /// Checks whether the jobs that waited at the last check have begun, and adds threads if not; returns whether
    /// another check is needed.
    fileprivate func look() -> Bool {
        let (threads, looks) = state.withLock { state -> ([Int], Bool) in
            let missing = state.missingThreads(processors: Self.processors)
            let threads = (0..<missing).map { _ in state.addThread() }
            state.recordProgress()
            state.isLooking = !state.turns.isEmpty
            return (threads, state.isLooking)
        }
        for thread in threads { start(thread) }
        return looks
    }

    private func start(_ thread: Int) {
        ThreadPool.shared.run {
            var last: BlockingTaskExecutor?
            while let (job, executor) = self.next(on: thread, after: last) {
                // Pass the executor as a task executor, not as an actor's serial executor: with the latter,
                // every call of an async function would be enqueued.
                unsafe job.runSynchronously(on: executor.asUnownedTaskExecutor())
                last = executor
            }
        }
    }

    /// Returns the next job for a thread that has just run a job of `last`; nil when the thread must end.
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

/// One thread that makes the checks of all ``SharedThreads`` every 2 ms; it ends when no jobs wait.
///
/// A timer of Dispatch for each check would wake two threads.
private final class ThreadChecks: Sendable {
    static let shared = ThreadChecks()

    private struct State {
        /// The objects that asked for checks since the last one.
        var new: [SharedThreads] = []
        var isRunning = false
    }

    private let state = Mutex(State())

    func add(_ threads: SharedThreads) {
        let starts = state.withLock { state in
            state.new.append(threads)
            defer { state.isRunning = true }
            return !state.isRunning
        }
        if starts { ThreadPool.shared.run { self.run() } }
    }

    private func run() {
        var checked: [SharedThreads] = []
        repeat {
            usleep(2_000)
            checked = checked.filter { $0.look() }
            let new = state.withLock { state in
                defer { state.new = [] }
                if checked.isEmpty, state.new.isEmpty { state.isRunning = false }
                return state.new
            }
            for threads in new { threads.beginLooking() }
            checked += new
        } while !checked.isEmpty
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
        // The thread has no job yet: the value `.max` means that it does not count as blocked.
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

    /// Removes and returns the next job for a thread; nil when there is none, or too many threads run.
    fileprivate mutating func begin(on thread: Int) -> (job: UnownedJob, executor: BlockingTaskExecutor)? {
        // End a surplus thread only while a check is scheduled: that check adds threads if the remaining ones
        // block.
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

    /// Counts a job that has ended; if another job of its executor had to wait, puts that job at the end of
    /// `turns`.
    fileprivate mutating func end(at place: Int) {
        if queues[place]?.endOne() ?? false { turns.append(place) }
    }

    fileprivate mutating func recordProgress() {
        begunBefore = begun
        due = begun + turns.count
    }

    /// Returns the number of threads to add: 0 if all jobs that waited at the last check have begun.
    ///
    /// Also counts the surplus threads.
    fileprivate mutating func missingThreads(processors: Int) -> Int {
        let blocked = threads.count { thread in thread.map { $0 <= begunBefore } ?? false }
        let active = threadCount - blocked
        leaving = max(0, active - processors)
        guard begun < due else { return 0 }
        // When every thread is blocked, add at least as many threads as there are.
        let wanted = active == 0 ? max(processors, blocked) : processors
        return max(0, min(wanted - active, turns.count, maximumThreads - threadCount))
    }
}
