import BalloonPOSIX
import BusinessMessages
import HandlerKit
import Synchronization

/// Runs the deliveries of one business, with the handler that its configuration names at the moment.
final class BusinessWorker: Sendable {
    let business: BusinessID
    /// What runs its deliveries and the calls of its handlers: no other business waits for one that blocks.
    let threads = SharedThreads()
    /// Deliveries read and write conversations and wait for the disk, so that none of them belongs to the cooperative pool.
    let executor: BlockingTaskExecutor
    private let held: Mutex<BusinessHandler>
    /// Those that were replaced and wait for their last events.
    private let retiring = Mutex<[BusinessHandler]>([])

    init(_ handler: BusinessHandler) {
        business = handler.business
        executor = BlockingTaskExecutor(maximumThreads: max(2, ProcessorCount.available()), on: threads)
        held = Mutex(handler)
    }

    /// What answers now.
    var current: BusinessHandler { held.withLock { $0 } }
    /// What answers now, and what has not ended yet.
    var all: [BusinessHandler] { [current] + retiring.withLock { $0 } }

    /// Waits for somebody who takes such an event; the caller tells the business when the event has ended.
    ///
    /// Throws `CancellationError` when nobody ever will again. Who waits for a handler that is replaced waits for the
    /// new one: no attempt is counted, and the order of the conversation stays, since the event is still leased.
    func responder(for subscription: Subscription) async throws -> (
        BusinessHandler, BusinessHandler.Responder
    ) {
        while true {
            let business = current
            if business.enter() {
                if let responder = await business.responder(for: subscription) {
                    return (business, responder)
                }
                business.leave()
            }
            if Task.isCancelled || current === business { throw CancellationError() }
        }
    }

    /// Lets `new` answer from now on; returns when the old one has ended and the new one is started.
    func replace(with new: BusinessHandler) async {
        let old = held.withLock { held in
            defer { held = new }
            return held
        }
        retiring.withLock { $0.append(old) }
        // One after the other: a program may hold a port or a lock. Events wait meanwhile.
        await old.retire()
        retiring.withLock { $0.removeAll { $0 === old } }
        new.start()
    }
}
