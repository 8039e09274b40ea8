import HandlerKit
import Logging
import Synchronization

/// The handler of each business, now and after reloads.
final class HandlerRegistry: Sendable {
    /// The slugs of the businesses that a reload added, replaced or removed, and the number of unchanged ones.
    struct Change: Sendable {
        var added: [String] = []
        var replaced: [String] = []
        var removed: [String] = []
        var unchanged = 0
    }

    private struct State {
        var workers: [BusinessID: BusinessWorker] = [:]
        /// The businesses whose messages are accepted; a removed business keeps its worker and its messages in the
        /// journal.
        var served: Set<BusinessID> = []
        /// Whether the server is stopping: no handler is added or replaced any more.
        var isStopping = false
    }

    private let state = Mutex(State())
    private let (newWorkers, addWorker) = AsyncStream.makeStream(of: BusinessWorker.self)

    init(_ handlers: [BusinessHandler]) {
        for handler in handlers { add(handler) }
    }

    /// The worker of every business that this process serves or has served, in the order of addition.
    ///
    /// The stream ends with ``stopWaiting()``.
    var workers: AsyncStream<BusinessWorker> { newWorkers }

    /// The current handlers of all served businesses, sorted by slug.
    var all: [BusinessHandler] {
        state.withLock { state in state.served.compactMap { state.workers[$0]?.current } }
            .sorted { $0.slug < $1.slug }
    }

    /// The number of handlers of served businesses that accept no events.
    var downCount: Int {
        let handlers = state.withLock { state in state.served.compactMap { state.workers[$0]?.current } }
        return handlers.count { $0.life?.downSince != nil }
    }

    /// Whether messages for the business are accepted.
    func contains(_ business: BusinessID) -> Bool { state.withLock { $0.served.contains(business) } }

    /// The current handler of the business; nil when the business is not served.
    subscript(business: BusinessID) -> BusinessHandler? {
        state.withLock { $0.served.contains(business) ? $0.workers[business]?.current : nil }
    }

    /// Serves exactly these businesses from now on, keeping handlers with an unchanged fingerprint.
    ///
    /// The returned task ends when the old handlers have ended and the new ones are started; a slow business
    /// delays no other business. Events of a removed business wait in the journal until the business is added
    /// again, or until ``RemovedBusinesses`` ends them. Calls must not overlap.
    func change(
        to wanted: Set<BusinessID>, replacing new: [BusinessHandler]
    ) -> (change: Change, started: Task<Void, Never>) {
        var change = Change()
        if state.withLock({ $0.isStopping }) { return (change, Task {}) }
        var replacements: [Task<Void, Never>] = []
        for handler in new {
            if let worker = state.withLock({ $0.workers[handler.business] }) {
                let isBack = state.withLock { $0.served.insert(handler.business).inserted }
                replacements.append(worker.replace(with: handler))
                if isBack { change.added.append(handler.slug) } else { change.replaced.append(handler.slug) }
            } else {
                add(handler)
                handler.start()
                change.added.append(handler.slug)
            }
        }
        for gone in state.withLock({ $0.served.subtracting(wanted) }) {
            guard let worker = state.withLock({ $0.workers[gone] }) else { continue }
            state.withLock { _ = $0.served.remove(gone) }
            change.removed.append(worker.current.slug)
            replacements.append(worker.replace(with: .absent(worker.current)))
        }
        change.unchanged = wanted.count - new.count
        return (change, Task { [replacements] in for task in replacements { await task.value } })
    }

    /// Starts every handler.
    func start() { for handler in everyHandler { handler.start() } }

    /// The number of events that handlers are processing, including those past their deadline.
    var callCount: Int { everyHandler.reduce(0) { $0 + $1.inFlightCount } }

    /// Ends all waits for handlers; from now on no handler is added or replaced.
    func stopWaiting() {
        state.withLock { $0.isStopping = true }
        addWorker.finish()
        for handler in everyHandler { handler.stopWaiting() }
    }

    /// Shuts down every handler, each within `time`.
    func shutdown(within time: Duration) async {
        await withDiscardingTaskGroup { group in
            for handler in everyHandler { group.addTask { await handler.shutdown(within: time) } }
        }
    }

    private var everyHandler: [BusinessHandler] { state.withLock { $0.workers.values.flatMap(\.all) } }

    private func add(_ handler: BusinessHandler) {
        let worker = BusinessWorker(handler)
        state.withLock { state in
            state.workers[handler.business] = worker
            state.served.insert(handler.business)
        }
        addWorker.yield(worker)
    }
}

extension BusinessHandler {
    /// Returns a handler for a business that is no longer configured; it accepts no events, so the events
    /// wait.
    fileprivate static func absent(_ old: BusinessHandler) -> BusinessHandler {
        let host = HandlerHost(business: old.business, slug: old.slug, logger: old.logger) { _, _, _ in
            throw HandlerHostError.notStored
        }
        return BusinessHandler(
            business: old.business, slug: old.slug, life: HandlerLifecycle(NeverReady(), host: host),
            concurrency: 1, deadline: old.deadline, logger: old.logger)
    }
}

/// A handler that never becomes ready, until it is replaced.
private struct NeverReady: LifecycleHandler {
    func provision(_ host: HandlerHost) async throws {
        // The shutdown cancels this loop.
        while !Task.isCancelled { _ = try? await Task.sleep(for: .seconds(3600)) }
        throw CancellationError()
    }
}
