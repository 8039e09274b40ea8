import BalloonPOSIX
import Synchronization

/// Limits the operations of each token that are in flight, so that no token can block another token.
///
/// An operation may count for more than one, such as an answer for its bytes.
final class InFlightOperations: Sendable {
    private struct Operations {
        var running = 0
        /// The operations that wait for the end of another one, in the order of their arrival.
        var waiting = Deque<CheckedContinuation<Void, Never>>()
    }

    private let tokens = Mutex<[String: Operations]>([:])
    private let maximum: Int

    /// Allows `maximum` operations of each token at the same time.
    init(maximum: Int) { self.maximum = maximum }

    /// Returns the number of operations of a token that are in flight.
    func count(of token: String) -> Int { tokens.withLock { $0[token]?.running ?? 0 } }

    /// Whether the token has the maximum.
    func isFull(_ token: String) -> Bool { count(of: token) >= maximum }

    /// Counts an operation until the returned permit is released; nil when the token would have more than the maximum.
    ///
    /// A token without another operation may begin one of any weight.
    func begin(_ token: String, weighing weight: Int = 1) -> OperationPermit? {
        let isAllowed = tokens.withLock { tokens in
            let running = tokens[token]?.running ?? 0
            guard running == 0 || running + weight <= maximum else { return false }
            tokens[token, default: Operations()].running += weight
            return true
        }
        return isAllowed ? OperationPermit { self.end(token, weighing: weight) } : nil
    }

    /// Counts an operation that cannot be refused any more until the returned permit is released.
    func add(_ token: String, weighing weight: Int) -> OperationPermit {
        tokens.withLock { $0[token, default: Operations()].running += weight }
        return OperationPermit { self.end(token, weighing: weight) }
    }

    /// Counts an operation until the returned permit is released; waits until the token has less than the maximum.
    ///
    /// The caller bounds the number of operations that wait.
    func wait(_ token: String) async -> OperationPermit {
        await withCheckedContinuation { continuation in
            let isAllowed = tokens.withLock { tokens in
                if tokens[token]?.running ?? 0 < maximum {
                    tokens[token, default: Operations()].running += 1
                    return true
                }
                tokens[token, default: Operations()].waiting.append(continuation)
                return false
            }
            if isAllowed { continuation.resume() }
        }
        return OperationPermit { self.end(token) }
    }

    private func end(_ token: String, weighing weight: Int = 1) {
        let next = tokens.withLock { tokens -> CheckedContinuation<Void, Never>? in
            // Operations wait only where each has the weight 1, so the next one takes the place of this one.
            if let next = tokens[token]?.waiting.popFirst() { return next }
            let left = (tokens[token]?.running ?? weight) - weight
            if left > 0 { tokens[token]?.running = left } else { tokens[token] = nil }
            return nil
        }
        next?.resume()
    }

    /// The maximum number of concurrent requests of a token that read the journal; the store reads for one at
    /// a time.
    static let maximumJournalReaders = 4

    /// Counts a request that does `what`; throws ``APIProblem`` when the token has too many such requests.
    func permit(for token: APIToken, to what: String) throws(APIProblem) -> OperationPermit {
        guard let permit = begin(token.name) else {
            throw APIProblem(.unavailable, "too many requests of the token \(what)", retryAfter: 1)
        }
        return permit
    }

    /// Runs `body`, which reads the journal; throws ``APIProblem`` when the token has too many such requests.
    func reading<Result: Sendable>(
        for token: APIToken, _ body: () async throws -> Result
    ) async throws -> Result {
        let permit = try permit(for: token, to: "read the journal already")
        defer { permit.release() }
        return try await body()
    }
}

extension APIProblem {
    /// The problem of a request that used up its limit for reading the journal before it found the message.
    static var journalUnread: APIProblem {
        APIProblem(.unavailable, "the journal is being read", retryAfter: 1)
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
