import BalloonHTTP
import BalloonPOSIX
import HandlerKit
import Logging
import MessageStore
import Synchronization

/// Reads the store's events on a separate queue, because reading an event may block on a file.
actor EventPump {
    /// How far the store's events were read.
    struct Progress: Sendable {
        /// The number of the source: 1 for the first, and one more each time that reading begins again.
        var source = 0
        /// The last record that was read; `unsent` are the records whose events wait for a line in a
        /// conversation's file.
        var last: UInt64 = 0
        var unsent: Set<UInt64> = []
        /// The last record of which every event was read.
        var through: UInt64 = 0
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

    /// Begins to follow the store's events, also again after changes were lost; returns where the reading begins.
    func begin() async -> Progress {
        source = await store.followEvents()
        sourceNumber += 1
        return progress
    }

    /// Returns the events that are due, and how far they were read; nil when changes were lost, so that the caller must
    /// begin again.
    func next() -> (events: [PlacedEvent], progress: Progress)? {
        guard let events = source?.next() else { return nil }
        return (events, progress)
    }

    private var progress: Progress {
        Progress(
            source: sourceNumber, last: source?.last ?? 0, unsent: source?.unsent ?? [],
            through: source?.through ?? 0)
    }
}
