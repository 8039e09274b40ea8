import BalloonHTTP
import BalloonPOSIX
import HandlerKit
import Logging
import MessageStore
import Synchronization

/// Reads the store's events on a separate queue, because reading an event may block on a file.
actor EventPump {
    /// Events that were read, with the state of their source after reading.
    struct Batch: Sendable {
        /// The number of the source: 1 for the first, and one more each time that reading begins again.
        let source: Int
        let events: [PlacedEvent]
        let last: UInt64
        let unsent: Set<UInt64>
        let through: UInt64
    }

    private nonisolated let executor = QueueExecutor(label: "balloon.events")
    private let store: Store
    private var source: EventSource?
    private var sourceNumber = 0
    /// The latest operation that begins or ends the reading.
    private var latest: Task<Void, Never>?

    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe executor.asUnownedSerialExecutor() }

    init(_ store: Store) { self.store = store }

    /// Runs operations that begin or end the reading one at a time.
    func exclusively(_ operation: @escaping @Sendable () async -> Void) async {
        let task = Task { [latest] in
            await latest?.value
            await operation()
        }
        latest = task
        await task.value
    }

    /// Begins to follow the store's events, also again after changes were lost; returns a batch without
    /// events.
    func begin() async -> Batch {
        source = await store.followEvents()
        sourceNumber += 1
        return batch([])
    }

    /// Returns the events that are due; nil when changes were lost, so that the caller must begin again.
    func next() -> Batch? {
        guard let events = source?.next() else { return nil }
        return batch(events)
    }

    private func batch(_ events: [PlacedEvent]) -> Batch {
        Batch(
            source: sourceNumber, events: events, last: source?.last ?? 0, unsent: source?.unsent ?? [],
            through: source?.through ?? 0)
    }
}
