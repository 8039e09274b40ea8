import BalloonPOSIX
import Synchronization

/// The operations that run or wait for a thread, counted for each token, so that none shuts out the others.
final class InFlightOperations: Sendable {
    private let counts = Mutex<[String: Int]>([:])
    private let maximum: Int

    /// Allows so many operations of each token.
    init(maximum: Int) { self.maximum = maximum }

    /// The number of operations of a token.
    func count(of token: String) -> Int { counts.withLock { $0[token] ?? 0 } }

    /// Counts an operation until the permit is released; nil when the token has as many as allowed.
    func begin(_ token: String) -> OperationPermit? {
        let isAllowed = counts.withLock { counts in
            guard counts[token, default: 0] < maximum else { return false }
            counts[token, default: 0] += 1
            return true
        }
        return isAllowed ? OperationPermit { self.end(token) } : nil
    }

    private func end(_ token: String) {
        counts.withLock { counts in
            let left = (counts[token] ?? 1) - 1
            counts[token] = left > 0 ? left : nil
        }
    }
}

/// A counted operation; released once, at the latest when the last reference is gone.
final class OperationPermit: Sendable {
    private let isReleased = OnceFlag()
    private let end: @Sendable () -> Void

    fileprivate init(end: @escaping @Sendable () -> Void) { self.end = end }

    /// Ends the count.
    func release() { if isReleased.claim() { end() } }

    deinit { release() }
}
