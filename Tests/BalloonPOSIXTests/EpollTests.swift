import BalloonPOSIX
import CLinux
import Dispatch
import Glibc
import Synchronization
import Testing

@Suite struct EpollTests {
    @Test func `the epoll events have the kernel's numbers`() {
        #expect(Epoll.Events.readable.rawValue == EPOLLIN.rawValue)
        #expect(Epoll.Events.writable.rawValue == EPOLLOUT.rawValue)
        #expect(Epoll.Events.gone.rawValue == EPOLLHUP.rawValue | EPOLLERR.rawValue)
    }

    @Test func `a signalled wake-up is ready until it is cleared`() throws {
        var epoll = try Epoll()
        let wakeUp = try WakeUp()
        try epoll.add(wakeUp.raw, .readable, token: 42)
        #expect(epoll.wait(milliseconds: 0) == 0)
        wakeUp.signal()
        wakeUp.signal()
        try #require(epoll.wait(milliseconds: 1000) == 1)
        #expect(epoll.ready(0).token == 42)
        #expect(epoll.ready(0).events == .readable)
        wakeUp.clear()
        #expect(epoll.wait(milliseconds: 0) == 0)
    }

    @Test func `watched events can be changed, and a disconnected peer is always reported`() throws {
        var ends: [Int32] = [0, 0]
        try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
        let ours = Descriptor(owning: ends[0])
        var epoll = try Epoll()
        try epoll.add(ours.raw, .writable, token: 1)
        #expect(epoll.wait(milliseconds: 0) == 1)
        try epoll.modify(ours.raw, .none, token: 2)
        #expect(epoll.wait(milliseconds: 0) == 0)
        do { _ = Descriptor(owning: ends[1]) }
        try #require(epoll.wait(milliseconds: 1000) == 1)
        #expect(epoll.ready(0).token == 2)
        #expect(epoll.ready(0).events.hasAny(of: .gone))
        try epoll.remove(ours.raw)
        #expect(epoll.wait(milliseconds: 0) == 0)
        #expect(throws: SystemError.self) { try epoll.remove(ours.raw) }
    }
}

private func block(_ signal: DispatchSemaphore?, _ wait: DispatchSemaphore) {
    signal?.signal()
    wait.wait()
}

private final class Steps: Sendable {
    let taken = Mutex<[Int]>([])

    @concurrent func take(_ number: Int) async { taken.withLock { $0.append(number) } }
}

@Suite struct QueueExecutorTests {
    @Test func `an actor on a queue runs its jobs there in sequence`() async {
        actor Counter {
            let executor = QueueExecutor(label: "test")
            nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }
            var value = 0
            func add() {
                executor.checkIsolated()
                value += 1
            }
        }
        let counter = Counter()
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<1000 { group.addTask { await counter.add() } }
        }
        #expect(await counter.value == 1000)
    }

    @Test func `a task stays one job until it suspends, however many functions it calls`() async {
        let executor = BlockingTaskExecutor()
        let steps = Steps()
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<100 {
                group.addTask(executorPreference: executor) { for _ in 0..<10 { await steps.take(number) } }
            }
        }
        // If a step were a separate job, it would run after the waiting jobs.
        let taken = steps.taken.withLock { $0 }
        let runs = zip(taken, taken.dropFirst()).count { $0 != $1 } + 1
        #expect(runs == 100)
    }

    @Test func `blocking jobs have a thread each, up to the limit`() async {
        let executor = BlockingTaskExecutor(maximumThreads: 5)
        let (began, release) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<4 { group.addTask(executorPreference: executor) { block(began, release) } }
            // The fifth job ends only when the other four run at the same time.
            group.addTask(executorPreference: executor) {
                for _ in 0..<4 { block(nil, began) }
                for _ in 0..<4 { release.signal() }
            }
        }
    }

    @Test func `an executor with one thread runs jobs in their order`() async {
        let executor = BlockingTaskExecutor()
        let steps = Steps()
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<100 {
                group.addTask(executorPreference: executor) { for _ in 0..<10 { await steps.take(number) } }
            }
        }
        #expect(steps.taken.withLock { $0 } == (0..<100).flatMap { Array(repeating: $0, count: 10) })
    }

    @Test func `only the first caller claims a flag`() async {
        let time = OnceFlag()
        let taken = await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<100 { group.addTask { time.claim() } }
            return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        #expect(taken == 1)
    }
}

@Suite struct TerminationSignalsTests {
    @Test func `the first signal requests a stop and the second ends the process`() async {
        await #expect(processExitsWith: .exitCode(128 + SIGTERM)) {
            let (asked, ask) = AsyncStream.makeStream(of: Void.self)
            let signals = TerminationSignals { ask.yield() }
            kill(getpid(), SIGINT)
            for await _ in asked { break }
            kill(getpid(), SIGTERM)
            await withCheckedContinuation { (_: CheckedContinuation<Void, Never>) in
                withExtendedLifetime(signals) {}
            }
        }
    }
}
