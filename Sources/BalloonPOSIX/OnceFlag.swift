import Synchronization

/// A flag that exactly one of several racing callers claims, such as an answer and its deadline.
package final class OnceFlag: Sendable {
    private let isClaimed = Atomic(false)

    /// Makes a flag that is not claimed.
    package init() {}

    /// Claims the flag; returns true for the first caller only.
    package func claim() -> Bool { !isClaimed.exchange(true, ordering: .acquiringAndReleasing) }
}
