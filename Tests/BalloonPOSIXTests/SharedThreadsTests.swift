import BalloonPOSIX
import Dispatch
import Synchronization
import Testing

@Suite struct SharedThreadsTests {
    @Test func `blocking jobs of one executor do not stop others`() async {
        let threads = SharedThreads()
        let (handlers, deliveries) = (executor(5, threads), executor(1, threads))
        let release = DispatchSemaphore(value: 0)
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<20 { group.addTask(executorPreference: handlers) { wait(for: release) } }
            // This job releases the blocking jobs, so it must run while they block.
            group.addTask(executorPreference: deliveries) {
                for _ in 0..<100 { await Task.yield() }
                for _ in 0..<20 { release.signal() }
            }
        }
    }

    @Test(arguments: [1, 3])
    func `concurrent jobs of an executor stay within its limit`(maximumThreads: Int) async {
        let threads = SharedThreads()
        let (bounded, other) = (executor(maximumThreads, threads), executor(8, threads))
        let running = Running()
        let release = DispatchSemaphore(value: 0)
        await withTaskGroup(of: Void.self) { group in
            // Without a limit, these seven blocking jobs would make the group add many threads.
            for _ in 0..<7 { group.addTask(executorPreference: other) { wait(for: release) } }
            for _ in 0..<200 {
                group.addTask(executorPreference: bounded) {
                    running.begin()
                    for _ in 0..<1000 { _ = DispatchTime.now() }
                    running.end()
                }
            }
            group.addTask(executorPreference: other) {
                while running.ended < 200 { await Task.yield() }
                for _ in 0..<7 { release.signal() }
            }
        }
        #expect(running.ended == 200)
        #expect(running.most <= maximumThreads)
    }

    @Test func `jobs of an executor start in order, including delayed ones`() async {
        let threads = SharedThreads()
        let (one, other) = (executor(1, threads), executor(4, threads))
        let order = Order()
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<300 {
                group.addTask(executorPreference: one) { order.add(number) }
                group.addTask(executorPreference: other) { await Task.yield() }
            }
        }
        #expect(order.numbers == Array(0..<300))
    }

    @Test func `executors are created and released while others use the same threads`() async {
        let threads = SharedThreads()
        let lasting = executor(2, threads)
        let running = Running()
        for _ in 0..<200 {
            let passing = executor(2, threads)
            await withTaskGroup(of: Void.self) { group in
                for executor in [passing, lasting, passing] {
                    group.addTask(executorPreference: executor) { running.end() }
                }
            }
        }
        #expect(running.ended == 600)
    }

    @Test func `many jobs that each wait for a job of another executor all end`() async {
        let threads = SharedThreads()
        let (deliveries, handlers) = (executor(2, threads), executor(16, threads))
        let sum = await withTaskGroup(of: Int.self) { group in
            for number in 0..<5000 {
                group.addTask(executorPreference: deliveries) {
                    await Task(executorPreference: handlers) { number }.value
                }
            }
            return await group.reduce(0, +)
        }
        #expect(sum == 4999 * 5000 / 2)
    }
}

private func executor(_ maximumThreads: Int, _ threads: SharedThreads) -> BlockingTaskExecutor {
    BlockingTaskExecutor(maximumThreads: maximumThreads, on: threads)
}

private func wait(for semaphore: DispatchSemaphore) { semaphore.wait() }

private final class Order: Sendable {
    private let taken = Mutex<[Int]>([])
    var numbers: [Int] { taken.withLock { $0 } }
    func add(_ number: Int) { taken.withLock { $0.append(number) } }
}

/// The number of running jobs, and its maximum.
private final class Running: Sendable {
    private let counts = Mutex((now: 0, most: 0, ended: 0))

    var most: Int { counts.withLock { $0.most } }
    var ended: Int { counts.withLock { $0.ended } }

    func begin() {
        counts.withLock { counts in
            counts.now += 1
            counts.most = max(counts.most, counts.now)
        }
    }

    func end() {
        counts.withLock { counts in
            counts.now -= 1
            counts.ended += 1
        }
    }
}
