import Synchronization

/// A shared limit on retries: during an outage each failure must not multiply the requests.
///
/// Each first attempt earns a fifth of a retry, each retry costs one, and at most 100 are saved. A request
/// without budget fails at once; the schedule of its delivery tries it again.
final class RetryBudget: Sendable {
    private static let perRequest = 1
    private static let perRepetition = 5
    private static let maximum = 100 * perRepetition

    private let saved = Atomic(maximum)

    /// Credits one first attempt.
    func earn() {
        // A race may lose one credit, which the limit tolerates.
        if saved.load(ordering: .relaxed) < Self.maximum { saved.add(Self.perRequest, ordering: .relaxed) }
    }

    /// Spends one retry; false when none is left.
    func spend() -> Bool {
        let left = saved.subtract(Self.perRepetition, ordering: .relaxed).newValue
        if left >= 0 { return true }
        saved.add(Self.perRepetition, ordering: .relaxed)
        return false
    }
}
