package import MessageServer
import TestSupport
package import Testing

/// Records all stage events, and lets a test wait for one.
package final class StageCollector: StageObserver {
    private let collector = EventCollector<StageEvent>()

    /// Creates a collector without events.
    package init() {}

    package var events: [StageEvent] { collector.events }

    package func observe(_ event: StageEvent) { collector.append(event) }

    /// Waits until `count` events match; the test fails when they do not within ``WaitLimit``.
    package func count(
        _ count: Int, _ location: SourceLocation = #_sourceLocation,
        where wanted: @escaping @Sendable (StageEvent) -> Bool
    ) async {
        await collector.count(count, at: location, where: wanted)
    }

    /// Waits for an event, past or future, that matches; the test fails when there is none within ``WaitLimit``.
    @discardableResult
    package func first(
        _ location: SourceLocation = #_sourceLocation, where wanted: @escaping @Sendable (StageEvent) -> Bool
    ) async -> StageEvent? {
        await collector.first(at: location, where: wanted)
    }

    /// An observer that passes each event to this collector, then to `other`.
    package func and(_ other: any StageObserver) -> any StageObserver { Both(first: self, second: other) }

    private struct Both: StageObserver {
        let first: any StageObserver
        let second: any StageObserver
        var wantsDetails: Bool { first.wantsDetails || second.wantsDetails }
        func observe(_ event: StageEvent) {
            first.observe(event)
            second.observe(event)
        }
    }
}
