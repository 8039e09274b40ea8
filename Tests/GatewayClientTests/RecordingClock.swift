import Synchronization

/// A clock whose sleeps return at once; it records the duration of each.
final class RecordingClock: Clock, Sendable {
    struct Instant: InstantProtocol {
        var offset = Duration.zero

        func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }
        func duration(to other: Instant) -> Duration { other.offset - offset }
        static func < (left: Instant, right: Instant) -> Bool { left.offset < right.offset }
    }

    private let recorded = Mutex<[Duration]>([])
    private let onWait: @Sendable () async throws -> Void

    /// Creates a clock; `onWait` runs during each sleep.
    init(onWait: @escaping @Sendable () async throws -> Void = {}) { self.onWait = onWait }

    var waits: [Duration] { recorded.withLock { $0 } }
    var now: Instant { Instant() }
    var minimumResolution: Duration { .zero }

    func sleep(until deadline: Instant, tolerance: Duration?) async throws {
        try Task.checkCancellation()
        recorded.withLock { $0.append(deadline.offset) }
        try await onWait()
    }
}
