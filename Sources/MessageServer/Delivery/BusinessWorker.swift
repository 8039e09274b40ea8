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
    private let replaced = Mutex(Replaced())

    private struct Replaced {
        /// Handlers that were replaced and have events or payments in flight.
        var retiring: [BusinessHandler] = []
        /// The latest replacement, after which the next one begins.
        var latest: Task<Void, Never>?
    }

    init(_ handler: BusinessHandler) {
        business = handler.business
        executor = BlockingTaskExecutor(maximumThreads: max(2, ProcessorCount.available()), on: threads)
        held = Mutex(handler)
    }

    /// The handler that answers now.
    var current: BusinessHandler { held.withLock { $0 } }
    /// The current handler, and the replaced handlers that have not ended yet.
    var all: [BusinessHandler] { [current] + replaced.withLock(\.retiring) }

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

    /// Replaces the handler with `new` for all events that have not begun; calls must not overlap.
    ///
    /// The returned task ends when the old handler processes no events and the new one is started, which takes up to
    /// the deadline of an event. Replacements of one business follow each other.
    func replace(with new: BusinessHandler) -> Task<Void, Never> {
        let old = held.withLock { held in
            defer { held = new }
            return held
        }
        return replaced.withLock { replaced in
            replaced.retiring.append(old)
            let latest = Task { [earlier = replaced.latest] in
                await earlier?.value
                await end(old)
                // A later replacement may have come meanwhile.
                if current === new { new.start() }
            }
            replaced.latest = latest
            return latest
        }
    }

    /// Ends a replaced handler; returns when it processes no events.
    ///
    /// A handler with payments in flight ends after them, beside its successor: a charge may take ten minutes, and
    /// the business's events, updates and reversals must not wait for it.
    private func end(_ old: BusinessHandler) async {
        await old.retire()
        let payments = old.paymentCount
        let ending = Task {
            await old.end()
            replaced.withLock { $0.retiring.removeAll { $0 === old } }
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
    }
}
