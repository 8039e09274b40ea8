import Dispatch
import Glibc
import Testing

@testable import MessageServer

@Suite(.timeLimit(.minutes(10))) struct HandlerSlotsTests {
    @Test func `a call's value is returned`() async throws {
        let slots = HandlerSlots(maximumCount: 1)
        #expect(try await slots.run(within: .seconds(60)) { 42 } == 42)
        #expect(slots.stuckCount == 0)
    }

    @Test func `a slot is free when its call's value is returned`() async throws {
        let slots = HandlerSlots(maximumCount: 1)
        for _ in 0..<2000 {
            _ = try await slots.run(within: .seconds(60)) {}
            try #require(slots.heldCount == 0)
        }
    }

    @Test func `a call over its deadline yields nil, and frees its slot when it returns`() async throws {
        let slots = HandlerSlots(maximumCount: 1)
        let release = DispatchSemaphore(value: 0)
        let value: Void? = try await slots.run(within: .milliseconds(20)) { waitBlocking(release) }
        #expect(value == nil)
        #expect(slots.stuckCount == 1)
        release.signal()
        #expect(try await slots.run(within: .seconds(60)) { true } == true)
        #expect(slots.stuckCount == 0)
    }

    @Test func `a caller that waits for a slot gets an error when the slots close`() async throws {
        let slots = HandlerSlots(maximumCount: 1)
        let release = DispatchSemaphore(value: 0)
        let (begun, begin) = AsyncStream.makeStream(of: Void.self)
        async let first: Bool? = slots.run(within: .seconds(60)) {
            begin.yield()
            waitBlocking(release)
            return true
        }
        for await _ in begun { break }
        let second = Task { try await slots.run(within: .seconds(60)) { true } }
        slots.close()
        await #expect(throws: HandlerSlots.Closed.self) { try await second.value }
        release.signal()
        #expect(try await first == true)
        await #expect(throws: HandlerSlots.Closed.self) { try await slots.run(within: .seconds(60)) { true } }
    }

    @Test func `eight endlessly blocking calls do not affect Swift's pool and other slots`() async throws {
        let blocked = HandlerSlots(maximumCount: 8)
        let stop = AtomicFlag()
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    _ = try? await blocked.run(within: .milliseconds(20)) {
                        while !stop.isSet { usleep(1000) }
                    }
                }
            }
        }
        #expect(blocked.stuckCount == 8)
        let free = HandlerSlots(maximumCount: 2)
        for index in 0..<100 { #expect(try await free.run(within: .seconds(60)) { index } == index) }
        stop.isSet = true
    }

    @Test func `three hundred blocking calls do not affect Dispatch and other slots`() async throws {
        let slots = (0..<30).map { _ in HandlerSlots(maximumCount: 10) }
        let stop = AtomicFlag()
        await withTaskGroup(of: Void.self) { group in
            for slots in slots {
                for _ in 0..<10 {
                    group.addTask {
                        _ = try? await slots.run(within: .milliseconds(50)) {
                            while !stop.isSet { usleep(10_000) }
                        }
                    }
                }
            }
        }
        // Dispatch has 255 threads for all serial queues together.
        await withCheckedContinuation { waiting in
            DispatchQueue(label: "another").async { waiting.resume() }
        }
        #expect(try await HandlerSlots(maximumCount: 1).run(within: .seconds(60)) { true } == true)
        stop.isSet = true
    }

    @Test func `blocking child tasks do not delay the next call`() async throws {
        let slots = HandlerSlots(maximumCount: 2)
        let release = DispatchSemaphore(value: 0)
        async let first: Void? = slots.run(within: .seconds(60)) {
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<4 { group.addTask { waitBlocking(release) } }
            }
        }
        #expect(try await slots.run(within: .seconds(60)) { true } == true)
        for _ in 0..<4 { release.signal() }
        #expect(try await first != nil)
    }

    @Test func `a caller that waits for a slot can be cancelled`() async throws {
        let slots = HandlerSlots(maximumCount: 1)
        let release = DispatchSemaphore(value: 0)
        let holder = Task { try await slots.run(within: .seconds(60)) { waitBlocking(release) } }
        let waiter = Task { try await slots.run(within: .seconds(60)) {} }
        waiter.cancel()
        // The waiter may have got the slot before the holder; then the holder waits, and gets the slot now.
        _ = try? await waiter.value
        release.signal()
        #expect(try await holder.value != nil)
    }
}

private func waitBlocking(_ semaphore: DispatchSemaphore) { semaphore.wait() }
