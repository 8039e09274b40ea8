import BalloonPOSIX
import Synchronization

/// Limits the operations of each token that are in flight, so that no token can block the others.
final class InFlightOperations: Sendable {
    private let counts = Mutex<[String: Int]>([:])
    private let maximum: Int

    /// Allows `maximum` operations of each token at the same time.
    init(maximum: Int) { self.maximum = maximum }

    /// The number of operations of a token.
    func count(of token: String) -> Int { counts.withLock { $0[token] ?? 0 } }

    /// Counts an operation until the returned permit is released; nil when the token already has the maximum.
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

extension InFlightOperations {
    /// The number of requests of a token that may read the journal at the same time; the store reads for one after the other.
    static let maximumJournalReaders = 4

    /// Runs `body`, which reads the journal; throws ``APIProblem`` when the token has too many such requests.
    func reading<Result: Sendable>(
        for token: APIToken, _ body: () async throws -> Result
    ) async throws -> Result {
        guard let permit = begin(token.name) else {
            throw APIProblem(.unavailable, "too many requests of the token read the journal already")
                .field("Retry-After", "1")
        }
        defer { permit.release() }
        return try await body()
    }
}

extension APIProblem {
    /// The part of the journal that a request may read did not reach its message.
    static var journalUnread: APIProblem {
        APIProblem(.unavailable, "the journal is being read").field("Retry-After", "1")
    }
}

/// A counted operation; released once, at the latest when the last reference is gone.
final class OperationPermit: Sendable {
    private let isReleased = OnceFlag()
    private let end: @Sendable () -> Void

    fileprivate init(end: @escaping @Sendable () -> Void) { self.end = end }

    /// Stops counting the operation; a second call does nothing.
    func release() { if isReleased.claim() { end() } }

    deinit { release() }
}
