import BalloonMetrics
import BalloonPOSIX
import BusinessMessages
import MessageStore

/// The state of the messages and the handlers that share a label.
struct BusinessMetrics: Sendable, Equatable {
    var pending = 0
    /// The age of the oldest unfinished message; 0 without one.
    var oldestSeconds = 0.0
    var queuedReplies = 0
    var deadLetters = 0
    /// Whether every handler is up; nil when there is none.
    var isHandlerUp: Bool?
    var restarts: Int?

    /// Adds a business with the same label: sums the counts, and keeps the greater age and the worse handler
    /// state.
    mutating func add(_ other: BusinessMetrics) {
        pending += other.pending
        oldestSeconds = max(oldestSeconds, other.oldestSeconds)
        queuedReplies += other.queuedReplies
        deadLetters += other.deadLetters
        if let isUp = other.isHandlerUp { isHandlerUp = (isHandlerUp ?? true) && isUp }
        if let restarts = other.restarts { self.restarts = (self.restarts ?? 0) + restarts }
    }

    /// Returns the metrics by label, sorted.
    ///
    /// A business that was removed from the configuration but still has messages counts as `_other`.
    static func all(
        _ labels: BusinessLabels, _ store: StoreMetrics, _ handlers: [BusinessID: HandlerStatus],
        at now: Timestamp
    ) -> [(label: String, metrics: BusinessMetrics)] {
        let known = Dictionary(labels.all) { first, _ in first }
        let businesses = Set(known.keys).union(store.pending.keys).union(store.queuedReplies.keys)
            .union(store.deadLetters.keys)
        var all: [String: BusinessMetrics] = [:]
        for business in businesses {
            var metrics = BusinessMetrics()
            metrics.pending = store.pending[business] ?? 0
            if let oldest = store.oldestPending[business] {
                // The age is not below 0, even when the clock was set back.
                metrics.oldestSeconds = Double(max(0, now.milliseconds - oldest.milliseconds)) / 1000
            }
            metrics.queuedReplies = store.queuedReplies[business] ?? 0
            metrics.deadLetters = store.deadLetters[business] ?? 0
            if let handler = handlers[business], handler.health != "none" {
                metrics.isHandlerUp = handler.health == "ready" && handler.downSeconds == nil
                metrics.restarts = handler.restarts ?? 0
            }
            all[known[business] ?? BusinessLabels.other, default: BusinessMetrics()].add(metrics)
        }
        return all.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }
}
