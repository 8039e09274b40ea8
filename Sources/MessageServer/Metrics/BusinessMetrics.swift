import BusinessMessages
import MessageStore

/// The state of the messages and the handlers that share a label.
struct BusinessMetrics: Sendable {
    var backlog = StoreMetrics.Backlog()
    /// Whether every handler is up; nil when there is none.
    var isHandlerUp: Bool?
    var restarts: Int?

    /// Adds the handler of a business with the same label: sums the restarts, and keeps the worse state.
    private mutating func add(_ handler: HandlerStatus) {
        if handler.health == "none" { return }
        isHandlerUp = (isHandlerUp ?? true) && handler.health == "ready" && handler.downSeconds == nil
        restarts = (restarts ?? 0) + (handler.restarts ?? 0)
    }

    /// Returns the metrics by label, sorted.
    ///
    /// A business that was removed from the configuration but still has messages counts as `_other`.
    static func all(
        _ labels: BusinessLabels, _ store: StoreMetrics, _ handlers: [BusinessID: HandlerStatus]
    ) -> [(label: String, metrics: BusinessMetrics)] {
        let known = Dictionary(labels.all) { first, _ in first }
        var all: [String: BusinessMetrics] = [:]
        for business in Set(known.keys).union(store.backlogs.keys) {
            let label = known[business] ?? BusinessLabels.other
            all[label, default: BusinessMetrics()].backlog.add(store.backlogs[business] ?? .init())
            if let handler = handlers[business] { all[label]?.add(handler) }
        }
        return all.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }
}
