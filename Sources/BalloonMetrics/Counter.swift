import Synchronization

/// A number that only grows, and starts at 0 when the process starts.
///
/// Any thread may add to the counter without waiting: an addition is one atomic instruction.
package final class Counter: Sendable {
    private let total = Atomic<UInt64>(0)

    /// Creates a counter at 0.
    package init() {}

    /// Adds `amount` and returns the new sum, which wraps around after 2^64.
    @discardableResult
    package func add(_ amount: UInt64 = 1) -> UInt64 {
        total.wrappingAdd(amount, ordering: .relaxed).newValue
    }

    /// The sum of all additions.
    package var value: UInt64 { total.load(ordering: .relaxed) }
}
