import Synchronization

/// The turns of followers to read the journal; each token has at most four, so that it cannot block another.
final class JournalTurns: Sendable {
    /// A turn of a token.
    struct Turn: Sendable {
        fileprivate let own: AsyncSemaphore
    }

    private struct Share {
        let turns = AsyncSemaphore(JournalTurns.maximumPerToken)
        /// The followers that have a turn or wait for one.
        var followers = 0
    }

    /// The number of turns; the reader of each holds a few megabytes.
    static let maximumCount = 16
    /// The number of turns of one token.
    static let maximumPerToken = 4
    /// The number of followers of one token that have a turn or wait for one.
    static let maximumFollowers = 1024

    private let all = AsyncSemaphore(maximumCount)
    private let shares = Mutex<[String: Share]>([:])

    /// Adds a follower of a token until ``leave(_:)``; throws a problem when the token has too many.
    func enter(_ token: String) throws(APIProblem) {
        let isAdmitted = shares.withLock { shares in
            guard shares[token]?.followers ?? 0 < Self.maximumFollowers else { return false }
            shares[token, default: Share()].followers += 1
            return true
        }
        guard !isAdmitted else { return }
        throw APIProblem(
            .unavailable, "too many event streams of the token wait to read older events; try again later",
            retryAfter: 5)
    }

    /// Removes a follower that has no turn.
    func leave(_ token: String) {
        shares.withLock { shares in
            shares[token]?.followers -= 1
            if shares[token]?.followers == 0 { shares[token] = nil }
        }
    }

    /// Acquires a turn for a follower that has entered; returns nil when the task is cancelled or the server
    /// stops.
    func acquire(_ token: String) async -> Turn? {
        guard let own = shares.withLock({ $0[token]?.turns }), await own.acquire() else { return nil }
        if await all.acquire() { return Turn(own: own) }
        own.release()
        return nil
    }

    /// Releases a turn.
    func release(_ turn: Turn) {
        all.release()
        turn.own.release()
    }

    /// Ends all waits when the server begins to stop.
    func close() {
        all.close()
        for share in shares.withLock({ Array($0.values) }) { share.turns.close() }
    }
}
