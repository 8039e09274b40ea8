import Synchronization

/// A limit on retries that all requests share, so that retries do not multiply the requests during an outage.
///
/// Each first attempt earns a fifth of a retry, and at most 100 retries are saved. When no retry is left, a
/// failed request is not retried here. If it belongs to a delivery, the delivery's schedule retries it later.
final class RetryBudget: Sendable {
    private static let perRequest = 1
    private static let perRepetition = 5
    private static let maximum = 100 * perRepetition

    private let saved = Atomic(maximum)

    /// Adds the credit of one first attempt.
    func earn() {
        // Concurrent callers may exceed the maximum by a few credits, which does no harm.
        if saved.load(ordering: .relaxed) < Self.maximum { saved.add(Self.perRequest, ordering: .relaxed) }
    }

    /// Spends one retry; returns false when none is left.
    func spend() -> Bool {
        let left = saved.subtract(Self.perRepetition, ordering: .relaxed).newValue
        if left >= 0 { return true }
        saved.add(Self.perRepetition, ordering: .relaxed)
        return false
    }
}
