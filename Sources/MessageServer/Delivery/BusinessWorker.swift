import BalloonPOSIX
import HandlerKit
import Logging
import Synchronization

/// Runs the deliveries of one business, with the handler that the current configuration names.
///
/// Invariant: the deliveries and handler calls of a business run on threads of this business only, so that a
/// handler that blocks delays no other business. A reload replaces the handler without ending the worker. Two
/// handlers of a business never process events at the same time.
final class BusinessWorker: Sendable {
    let business: BusinessID
    /// The threads of the business's deliveries and of its handlers' calls.
    let threads = SharedThreads()
    /// Runs the business's deliveries, which may wait for the disk.
    let executor: BlockingTaskExecutor
    private let held: Mutex<BusinessHandler>
    /// Handlers that were replaced and have events or payments in flight.
    private let retiring = Mutex<[BusinessHandler]>([])

    init(_ handler: BusinessHandler) {
        business = handler.business
        executor = BlockingTaskExecutor(maximumThreads: max(2, ProcessorCount.available()), on: threads)
        held = Mutex(handler)
    }

    /// The handler that answers now.
    var current: BusinessHandler { held.withLock { $0 } }
    /// The current handler, and the replaced handlers that have not ended yet.
    var all: [BusinessHandler] { [current] + retiring.withLock { $0 } }

    /// Waits for a handler that accepts an event with this subscription.
    ///
    /// The caller calls `leave()` on the returned ``BusinessHandler`` when the event has ended. Throws
    /// `CancellationError` when no handler will accept events any more. When the handler is replaced during
    /// the wait, the caller waits for the new handler. No attempt is counted, and the order of the
    /// conversation stays, because the event is still leased.
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

    /// Replaces the handler with `new`; returns when the old one processes no events and the new one is started.
    ///
    /// An old handler with payments in flight ends after them, beside the new one: a charge may take ten minutes, and
    /// the business's events, updates and reversals must not wait for it.
    func replace(with new: BusinessHandler) async {
        let old = held.withLock { held in
            defer { held = new }
            return held
        }
        retiring.withLock { $0.append(old) }
        await old.retire()
        let payments = old.paymentCount
        let ending = Task {
            await old.end()
            retiring.withLock { $0.removeAll { $0 === old } }
        }
        if payments > 0 {
            old.logger.notice(
                "handler is replaced, and its payments in flight end in the old one",
                metadata: ["business": "\(old.slug)", "payments": "\(payments)"])
        } else {
            // End the old handler before the new one starts, because its program may hold a port or a lock.
            // Events wait meanwhile.
            await ending.value
        }
        new.start()
    }
}
