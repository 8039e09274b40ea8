import Synchronization

/// A flag that only the first of several concurrent callers can claim, for example an answer and its
/// deadline.
package final class OnceFlag: Sendable {
    private let isClaimed = Atomic(false)

    /// Creates an unclaimed flag.
    package init() {}

    /// Claims the flag; returns true for the first caller only.
    package func claim() -> Bool { !isClaimed.exchange(true, ordering: .acquiringAndReleasing) }
}
