import Synchronization

/// Answers true once, to whoever asks first.
package final class OnceFlag: Sendable {
    private let isTaken = Atomic(false)

    /// Makes a value that nobody has asked.
    package init() {}

    /// Whether this is the first call.
    package func take() -> Bool { !isTaken.exchange(true, ordering: .acquiringAndReleasing) }
}
