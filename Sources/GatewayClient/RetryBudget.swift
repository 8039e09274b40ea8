import Synchronization

/// How many repetitions all requests together may make: when much fails, each failure must not become several.
///
/// Each request that is made for the first time earns a fifth of a repetition, each repetition costs one, and at most 100
/// are saved up. A request that gets none fails at once, and is tried again as its delivery's schedule says.
final class RetryBudget: Sendable {
    private static let perRequest = 1
    private static let perRepetition = 5
    private static let maximum = 100 * perRepetition

    private let saved = Atomic(maximum)

    /// Notes a request that is made for the first time.
    func earn() {
        // A race may lose one; it is a bound, no account.
        if saved.load(ordering: .relaxed) < Self.maximum { saved.add(Self.perRequest, ordering: .relaxed) }
    }

    /// Takes one repetition, if there is one.
    func spend() -> Bool {
        let left = saved.subtract(Self.perRepetition, ordering: .relaxed).newValue
        if left >= 0 { return true }
        saved.add(Self.perRepetition, ordering: .relaxed)
        return false
    }
}
