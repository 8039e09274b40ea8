import BalloonPOSIX
import BusinessMessages
import Synchronization
import Testing

@testable import MessageStore

/// Deliveries that fail often and no longer block their conversations.
struct ParkingTests {
    let directory = StoreDirectory()

    @Test func `the delivery after a parked one is leased, and reports the gap once`() async throws {
        let store = try directory.open()
        for id in ["1", "2", "3"] { _ = await store.append(message(id)) }
        let first = try await store.lease()
        #expect(!first.isAfterGap)
        store.postpone(first, after: .seconds(3600), parks: true)
        let second = try await store.lease()
        #expect(second.id == MessageID("2"))
        #expect(second.isAfterGap)
        #expect(store.statistics.parkedDeliveries == 1)
        try await store.finish(second, result: .handled)
        let third = try await store.lease()
        #expect(third.id == MessageID("3"))
        #expect(!third.isAfterGap)
    }

    @Test func `releasing a lease costs no attempt, journals nothing, and keeps the delivery first`()
        async throws
    {
        let store = try directory.open()
        for id in ["1", "2"] { _ = await store.append(message(id)) }
        let first = try await store.lease()
        #expect(store.release(first) == .seconds(1))
        #expect(store.release(first) == nil)
        let again = try await store.lease()
        #expect((again.id, again.attempt, again.isParked) == (MessageID("1"), 1, false))
        #expect(store.release(again) == .seconds(2))
        await store.close()
        #expect(try directory.records("attempt").isEmpty)
    }

    @Test func `a parked delivery that is released delays no other`() async throws {
        let store = try directory.open()
        _ = await store.append(message("1"))
        store.postpone(try await store.lease(), after: .milliseconds(1), parks: true)
        let parked = try await store.lease()
        _ = await store.append(message("2"))
        #expect(store.release(parked) == .seconds(1))
        let second = try await store.lease()
        #expect(second.id == MessageID("2"))
        try await store.finish(second, result: .handled)
        let again = try await store.lease()
        #expect((again.id, again.attempt, again.isParked) == (MessageID("1"), 2, true))
        #expect(store.statistics.parkedDeliveries == 1)
    }

    @Test func `a parked delivery is leased when due, and is parked again when it is postponed`() async throws
    {
        let store = try directory.open()
        _ = await store.append(message("1"))
        store.postpone(try await store.lease(), after: .milliseconds(1), parks: true)
        let again = try await store.lease()
        #expect(again.id == MessageID("1"))
        #expect(again.attempt == 2)
        #expect(again.isParked)
        _ = await store.append(message("2"))
        store.postpone(again, after: .seconds(3600))
        #expect(try await store.lease().id == MessageID("2"))
        #expect(store.statistics.parkedDeliveries == 1)
    }

    @Test func `a parked delivery that is due waits for the leased one, and precedes the others`()
        async throws
    {
        let store = try directory.open()
        for id in ["1", "2", "3"] { _ = await store.append(message(id)) }
        let first = try await store.lease()
        store.postpone(first, after: .zero, parks: true)
        let second = try await store.lease()
        var order = [second.id.rawValue]
        try await store.finish(second, result: .handled)
        for _ in 0..<2 {
            let next = try await store.lease()
            order.append(next.id.rawValue)
            try await store.finish(next, result: .handled)
        }
        // The timer decides whether the parked delivery was due in time, so only the set of deliveries is checked.
        #expect(order.sorted() == ["1", "2", "3"])
        #expect(store.statistics.pendingDeliveries == 0)
        #expect(store.statistics.parkedDeliveries == 0)
    }

    @Test func `a restart keeps the due time of a parked delivery, and the gap that it left`() async throws {
        let store = try directory.open()
        for id in ["1", "2"] { _ = await store.append(message(id)) }
        store.postpone(try await store.lease(), after: .seconds(3600), parks: true)
        await store.close()
        let attempt = try #require(try directory.records("attempt").first)
        #expect(attempt["parked"]?.bool == true)
        #expect(attempt["next"]?.string ?? "" > attempt["at"]?.string ?? "?")
        let restarted = try directory.open()
        #expect(restarted.statistics.parkedDeliveries == 1)
        let next = try await restarted.lease()
        #expect(next.id == MessageID("2"))
        #expect(next.isAfterGap)
    }
}

/// Deliveries whose handlers crash the process.
struct CrashCountTests {
    @Test
    func `of 256 deliveries leased at a crash only the guilty one is counted, and the others run before it`()
        async throws
    {
        var directory = StoreDirectory()
        let guilty = MessageID("128")
        var store = try directory.open()
        for number in 1...256 { _ = await store.append(message("\(number)", from: CustomerID("c\(number)"))) }
        for _ in 1...256 { _ = try await store.lease() }
        var handled: Set<MessageID> = []
        for crashes in 0...3 {
            directory = try directory.copy()
            store = try directory.open()
            // One at a time: nothing else is leased while a suspect runs.
            var delivery = try await store.lease()
            while delivery.id != guilty {
                #expect(delivery.crashes == 0)
                handled.insert(delivery.id)
                try await store.finish(delivery, result: .handled)
                delivery = try await store.lease()
            }
            #expect(delivery.crashes == crashes)
            await store.journal.flush()
            if crashes == 3 {
                try await store.finish(delivery, result: .failed(reason: "crashed three times"))
            }
        }
        for _ in handled.count..<255 {
            let delivery = try await store.lease()
            #expect(delivery.crashes == 0)
            handled.insert(delivery.id)
            try await store.finish(delivery, result: .handled)
        }
        #expect(handled.count == 255)
    }

    @Test func `a delivery suspected of crashing the process runs alone, and the others after it`()
        async throws
    {
        let directory = StoreDirectory()
        let store = try directory.open()
        _ = await store.append(message("1"))
        _ = try await store.lease()
        _ = await store.append(message("2", from: CustomerID("d")))
        let copy = try directory.copy()
        defer { withExtendedLifetime(copy) {} }
        let restarted = try copy.open()
        let suspect = try await restarted.lease()
        #expect((suspect.id, suspect.crashes) == (MessageID("1"), 0))
        async let next = restarted.nextDelivery(for: business)
        #expect(restarted.scheduler.holds == .suspects)
        restarted.postpone(suspect, after: .seconds(3600))
        #expect(await next?.id == MessageID("2"))
        #expect(restarted.scheduler.holds.isEmpty)
    }

    @Test func `a crash suspect that waits for its handler delays other deliveries for a limited time`()
        async throws
    {
        let directory = StoreDirectory()
        let other = BusinessID("other")
        let store = try directory.open()
        _ = await store.append(message("1"))
        _ = try await store.lease()
        _ = await store.append(message("2", to: other))
        let copy = try directory.copy()
        let restarted = try copy.open { $0.suspectPatience = .milliseconds(20) }
        let suspect = try await restarted.lease()
        #expect(suspect.isSuspect)
        restarted.suspend(suspect, isOutside: false)
        #expect(try await restarted.lease(other).id == MessageID("2"))
        #expect(restarted.scheduler.holds.isEmpty)
        // The suspect does not run alone any more, so its next crash does not count.
        await restarted.resume(suspect)
        let again = try copy.copy()
        defer { withExtendedLifetime(again) {} }
        #expect(try await again.open().lease().crashes == 0)
    }

    @Test func `a crash suspect that is released while it waits for its handler runs alone later`()
        async throws
    {
        let directory = StoreDirectory()
        let other = BusinessID("other")
        let store = try directory.open()
        _ = await store.append(message("1"))
        _ = try await store.lease()
        _ = await store.append(message("2", to: other))
        let copy = try directory.copy()
        let restarted = try copy.open {
            $0.suspectPatience = .seconds(3600)
            $0.releaseBackoff = Backoff(from: .milliseconds(1), to: .milliseconds(1))
        }
        let suspect = try await restarted.lease()
        restarted.suspend(suspect, isOutside: false)
        async let next = restarted.nextDelivery(for: other)
        #expect(restarted.release(suspect) != nil)
        let again = try await restarted.lease()
        #expect((again.id, again.isSuspect) == (suspect.id, true))
        #expect(restarted.scheduler.holds == .suspects)
        try await restarted.finish(again, result: .handled)
        #expect(await next?.id == MessageID("2"))
        #expect(restarted.scheduler.holds.isEmpty)
        withExtendedLifetime(copy) {}
    }

    @Test(arguments: [true, false])
    func `a crash counts for a suspect that runs, and not for one that waits for its handler`(
        _ isWaiting: Bool
    ) async throws {
        let directory = StoreDirectory()
        let store = try directory.open()
        _ = await store.append(message("1"))
        _ = try await store.lease()
        let copy = try directory.copy()
        let restarted = try copy.open()
        let suspect = try await restarted.lease()
        restarted.suspend(suspect, isOutside: false)
        if !isWaiting { await restarted.resume(suspect) }
        let again = try copy.copy()
        defer { withExtendedLifetime(again) {} }
        #expect(try await again.open().lease().crashes == (isWaiting ? 0 : 1))
    }

    /// Two suspects of one crash, and a message that is none, each of another business.
    private func leaveTwoSuspects() async throws -> StoreDirectory {
        let directory = StoreDirectory()
        let store = try directory.open()
        for (id, business) in [("1", business), ("2", BusinessID("other")), ("3", BusinessID("third"))] {
            _ = await store.append(message(id, to: business))
        }
        _ = try await store.lease()
        _ = try await store.lease(BusinessID("other"))
        let copy = try directory.copy()
        withExtendedLifetime(store) {}
        return copy
    }

    @Test(arguments: [true, false])
    func `while a crash suspect waits, the next suspect runs alone`(_ isOutside: Bool) async throws {
        let directory = try await leaveTwoSuspects()
        let store = try directory.open { $0.suspectPatience = .seconds(3600) }
        let first = try await store.lease()
        store.suspend(first, isOutside: isOutside)
        _ = try await store.lease(BusinessID("other"))
        #expect(store.scheduler.holds == .suspects)
        let crashed = try directory.copy()
        let restarted = try crashed.open()
        async let again = restarted.lease(BusinessID("other"))
        restarted.suspend(try await restarted.lease(), isOutside: isOutside)
        #expect(try await again.crashes == 1)
        withExtendedLifetime((directory, crashed)) {}
    }

    @Test func `a crash suspect that waits for something outside the process holds no other delivery back`()
        async throws
    {
        let directory = try await leaveTwoSuspects()
        let store = try directory.open { $0.suspectPatience = .seconds(3600) }
        let first = try await store.lease()
        store.suspend(first, isOutside: true)
        let second = try await store.lease(BusinessID("other"))
        store.suspend(second, isOutside: true)
        #expect(try await store.lease(BusinessID("third")).id == MessageID("3"))
        await store.resume(first)
        await store.resume(second)
        #expect(store.scheduler.holds.isEmpty)
        withExtendedLifetime(directory) {}
    }

    @Test func `a crash suspect whose wait is over runs alone after the suspect that runs meanwhile`()
        async throws
    {
        let directory = try await leaveTwoSuspects()
        let store = try directory.open { $0.suspectPatience = .seconds(3600) }
        let first = try await store.lease()
        store.suspend(first, isOutside: false)
        let second = try await store.lease(BusinessID("other"))
        async let resumed: Void = store.resume(first)
        try await store.finish(second, result: .handled)
        await resumed
        #expect(store.scheduler.holds == .suspects)
        await store.journal.flush()
        let crashed = try directory.copy()
        #expect(try await crashed.open().lease().crashes == 1)
        try await store.finish(first, result: .handled)
        #expect(try await store.lease(BusinessID("third")).id == MessageID("3"))
        withExtendedLifetime((directory, crashed)) {}
    }

    @Test func `a crash suspect that runs for too long is no longer alone`() async throws {
        let directory = try await leaveTwoSuspects()
        let store = try directory.open { $0.suspectPatience = .milliseconds(20) }
        _ = try await store.lease()
        _ = try await store.lease(BusinessID("other"))
        _ = try await store.lease(BusinessID("third"))
        let crashed = try directory.copy()
        #expect(try await crashed.open().lease().crashes == 0)
        withExtendedLifetime((directory, crashed)) {}
    }

    @Test func `crash suspects of businesses that are not served hold no other delivery back`() async throws {
        let directory = try await leaveTwoSuspects()
        let store = try directory.open { $0.suspectPatience = .seconds(3600) }
        store.keepSuspects { $0 == BusinessID("third") }
        #expect(try await store.lease(BusinessID("third")).id == MessageID("3"))
        withExtendedLifetime(directory) {}
    }

    /// A process that was asked to stop, and was killed before it had stopped.
    @Test func `a requested stop leaves no crash suspect, however the process ends`() async throws {
        let directory = try await leaveTwoSuspects()
        let store = try directory.open { $0.suspectPatience = .seconds(3600) }
        _ = try await store.lease()
        store.recordStop()
        let killed = try directory.copy()
        let restarted = try killed.open { $0.suspectPatience = .seconds(3600) }
        #expect(restarted.scheduler.holds.isEmpty)
        let again = try await restarted.lease()
        #expect((again.crashes, again.isSuspect) == (0, false))
        // The mark is for one process: the next crash leaves a suspect again.
        let crashed = try killed.copy()
        #expect(try await crashed.open().lease().isSuspect)
        withExtendedLifetime((directory, killed, crashed)) {}
    }

    @Test func `a delivery whose end a crash lost runs before the crash suspect that follows it`()
        async throws
    {
        let directory = StoreDirectory()
        let other = BusinessID("other")
        let store = try directory.open()
        for id in ["1", "2"] { _ = await store.append(message(id)) }
        _ = await store.append(message("3", to: other))
        await store.close()
        // The directory is left by a process that ended the first delivery, leased the second, and died before its
        // next batch.
        try directory.leave([3])
        let restarted = try directory.open { $0.suspectPatience = .seconds(3600) }
        async let next = restarted.nextDelivery(for: other)
        for id in ["1", "2"] {
            let delivery = try await restarted.lease()
            #expect((delivery.id, delivery.isSuspect) == (MessageID(id), true))
            #expect(restarted.scheduler.holds == .suspects)
            try await restarted.finish(delivery, result: .handled)
        }
        #expect(await next?.id == MessageID("3"))
    }

    /// Which lines of the file of calls the next machine has when this one dies.
    @Test(arguments: [
        (wasTakenOver: false, left: [], known: []), (true, [], [2, 3]), (false, [3], [3]), (true, [3], [3]),
    ])
    func `a message runs alone, or after a takeover, only when the next machine knows`(
        wasTakenOver: Bool, left: [UInt64], known: [UInt64]
    ) async throws {
        let directory = StoreDirectory()
        let store = try directory.open()
        for (id, name) in [("1", "one"), ("2", "other")] {
            _ = await store.append(message(id, to: BusinessID(name)))
        }
        await store.close()
        if !left.isEmpty { try directory.leave(left) }
        let copy = MemoryCopy(of: directory.path)
        DurableCopies.begin(copy)
        defer { DurableCopies.end(copy) }
        let taken = try directory.open {
            $0.wasTakenOver = wasTakenOver
            $0.suspectPatience = .seconds(3600)
        }
        // Those of this process run as on one machine; after a suspect only.
        for name in left.isEmpty ? ["one", "other", "new"] : ["other"] {
            if name == "new" { _ = await taken.append(message("3", to: BusinessID(name))) }
            _ = try await taken.lease(BusinessID(name))
        }
        let next = StoreDirectory()
        try Directory.make(next.path)
        try AtomicFile.write(copy.content(directory.path + "/calls") ?? [], to: next.path + "/calls")
        let found = try InFlightCalls.open(next.path + "/calls").left
        #expect(found.keys.sorted() == known)
        #expect(found.values.allSatisfy { $0.isAlone == !left.isEmpty })
    }

    @Test(arguments: [[3], [2, 3]])
    func `dropping the last suspects of a crash releases the other deliveries`(_ suspects: [UInt64])
        async throws
    {
        let directory = StoreDirectory()
        let other = BusinessID("other")
        let store = try directory.open()
        for id in ["1", "2"] { _ = await store.append(message(id)) }
        _ = await store.append(message("3", to: other))
        await store.close()
        try directory.leave(suspects)
        let restarted = try directory.open { $0.suspectPatience = .seconds(3600) }
        _ = try await restarted.dropPending([2, 3], reason: "by an operator")
        #expect(restarted.scheduler.holds.isEmpty)
        #expect(try await restarted.lease(other).id == MessageID("3"))
    }

    @Test func `a parked delivery that crashes the process runs alone, and its crash is counted`()
        async throws
    {
        var directory = StoreDirectory()
        var store = try directory.open()
        for id in ["1", "2"] { _ = await store.append(message(id)) }
        store.postpone(try await store.lease(), after: .zero, parks: true)
        var delivery = try await store.lease()
        while !delivery.isParked {
            store.postpone(delivery, after: .zero)
            delivery = try await store.lease()
        }
        await store.journal.flush()
        for crashes in 0...3 {
            directory = try directory.copy()
            store = try directory.open { $0.suspectPatience = .seconds(3600) }
            delivery = try await store.lease()
            #expect((delivery.id, delivery.crashes) == (MessageID("1"), crashes))
            #expect(store.scheduler.holds == .suspects)
        }
    }

    @Test
    func `a message that crashes the process while it is recorded is counted when it is recorded alone`()
        async throws
    {
        var directory = StoreDirectory()
        let guilty = MessageID("guilty")
        var store = try directory.open(recordingAs: nil)
        for number in 1...40 { _ = await store.append(message("\(number)", from: CustomerID("c\(number)"))) }
        _ = await store.append(message("guilty", from: CustomerID("c7")))
        var counts: [Int] = []
        while counts.last ?? 0 < 3 {
            directory = try directory.copy()
            store = try directory.open(recordingAs: nil) { $0.suspectPatience = .seconds(3600) }
            let crash = Mutex(StoreDirectory?.none)
            let life = directory
            let (ends, ended) = AsyncStream<Int>.makeStream()
            store.startRecording { [store] message in
                guard message.id == guilty, message.crashes < 3 else {
                    let line = try store.write(message, as: .text)
                    if message.id == guilty { ended.yield(message.crashes) }
                    return line
                }
                // Copies the directory as a crash would leave it. Other conversations are written meanwhile, so a
                // file may be removed before it is copied; the copy is then repeated.
                crash.withLock { while $0 == nil { $0 = try? life.copy() } }
                ended.yield(message.crashes)
                throw StoreError.closed
            }
            for await count in ends {
                counts.append(count)
                break
            }
            if let left = crash.withLock({ $0 }) { directory = left }
        }
        // Crashes beside other messages do not count; crashes alone do.
        #expect(counts == [0, 0, 1, 2, 3])
        var handled: Set<MessageID> = []
        for _ in 1...41 {
            let delivery = try await store.lease()
            #expect(delivery.crashes == (delivery.id == guilty ? 3 : 0))
            handled.insert(delivery.id)
            try await store.finish(delivery, result: .handled)
        }
        #expect(handled.count == 41)
    }

    @Test func `a payload reference at which a restarted process crashes is leased as a suspect`()
        async throws
    {
        var directory = StoreDirectory()
        var store = try directory.open()
        _ = await store.append(message("1", reference: true))
        for isSuspect in [false, false, true] {
            let reference = try #require(await store.nextReference())
            #expect(reference.isSuspect == isSuspect)
            if isSuspect {
                try await store.resolve(reference, .failed(reason: "the process crashed"))
                store.release(reference)
            } else {
                directory = try directory.copy()
                store = try directory.open()
            }
        }
        #expect(try await store.lease().referenceFailure == "the process crashed")
    }

    @Test(arguments: ["decided", "postponed", "finished", "closed"])
    func `a lease that ended before the process did does not count as a crash`(_ end: String) async throws {
        let directory = StoreDirectory()
        let store = try directory.open()
        _ = await store.append(message("1"))
        let delivery = try await store.lease()
        switch end {
        case "decided": try await store.decide(delivery, DecidedOutcome(.handled))
        case "postponed": store.postpone(delivery, after: .zero)
        case "finished":
            try await store.finish(delivery, result: .handled)
            _ = await store.append(message("2"))
        default: await store.close()
        }
        let copy = try directory.copy()
        defer { withExtendedLifetime(copy) {} }
        let restarted = try copy.open()
        #expect(restarted.scheduler.holds.isEmpty)
        #expect(try await restarted.lease().crashes == 0)
    }
}
