import BusinessMessages
import MessageStore
import Synchronization

/// Wakes requests that wait for the end of a message's delivery; passes every stage event to the next observer.
final class DeliveryWatch: StageObserver {
    /// A request that waits; it is woken when the state of its message may have changed.
    struct Waiter {
        fileprivate let number: Int
        let wakeups: AsyncStream<Void>
    }

    fileprivate struct Waiting {
        let business: BusinessID
        let message: MessageID
        /// The message's record, once the request knows it; the stage events of its replies name this record.
        var record: UInt64?
        let continuation: AsyncStream<Void>.Continuation
    }

    static let maximumWaiters = 64

    private let next: any StageObserver
    private let waiting = Mutex<[Int: Waiting]>([:])
    /// The number of waiting requests.
    ///
    /// It is read for every stage event, so that the lock is acquired only while a request waits.
    private let count = Atomic(0)
    private let lastNumber = Atomic(0)

    init(passingTo next: any StageObserver) { self.next = next }

    var wantsDetails: Bool { next.wantsDetails }

    func observe(_ event: StageEvent) {
        next.observe(event)
        guard count.load(ordering: .relaxed) > 0 else { return }
        waiting.withLock { waiting in
            for waiter in waiting.values where waiter.concerns(event) { waiter.continuation.yield() }
        }
    }

    /// Begins to wait for a message; nil when too many requests wait.
    func begin(_ message: MessageID, to business: BusinessID) -> Waiter? {
        let (wakeups, continuation) = AsyncStream.makeStream(
            of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let number = lastNumber.add(1, ordering: .relaxed).newValue
        let isAdded = waiting.withLock { waiting in
            guard waiting.count < Self.maximumWaiters else { return false }
            waiting[number] = Waiting(business: business, message: message, continuation: continuation)
            count.store(waiting.count, ordering: .relaxed)
            return true
        }
        return isAdded ? Waiter(number: number, wakeups: wakeups) : nil
    }

    /// Sets the record of the waiter's message, so that the ends of the message's replies wake the waiter too.
    func setRecord(_ record: UInt64, for waiter: Waiter) {
        waiting.withLock { $0[waiter.number]?.record = record }
    }

    /// Ends a wait; the waiter's wakeups end as well.
    func end(_ waiter: Waiter) {
        let removed = waiting.withLock { waiting in
            defer { count.store(waiting.count, ordering: .relaxed) }
            return waiting.removeValue(forKey: waiter.number)
        }
        removed?.continuation.finish()
    }
}

extension DeliveryWatch.Waiting {
    fileprivate func concerns(_ event: StageEvent) -> Bool {
        switch event.stage {
        case .record, .handle, .finish, .reply: break
        default: return false
        }
        guard event.business == business else { return false }
        return event.message == message || (record != nil && event.delivery == record)
    }
}
