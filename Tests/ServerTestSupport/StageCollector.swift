package import MessageServer
package import TestSupport

/// Records all stage events, and lets a test wait for one.
package typealias StageCollector = EventCollector<StageEvent>

extension EventCollector: StageObserver where Event == StageEvent {
    package func observe(_ event: StageEvent) { append(event) }

    /// An observer that passes each event to this collector, then to `other`.
    package func and(_ other: any StageObserver) -> any StageObserver {
        BothObservers(first: self, second: other)
    }
}

private struct BothObservers: StageObserver {
    let first: any StageObserver
    let second: any StageObserver
    var wantsDetails: Bool { first.wantsDetails || second.wantsDetails }
    func observe(_ event: StageEvent) {
        first.observe(event)
        second.observe(event)
    }
}
