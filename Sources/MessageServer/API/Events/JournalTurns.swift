import Synchronization

/// The turns of followers to read the journal; each token has at most four, so that it cannot block another.
final class JournalTurns: Sendable {
    /// A turn of a token.
    struct Turn: Sendable {
        fileprivate let own: AsyncSemaphore
    }

    /// The number of turns; the reader of each holds a few megabytes.
    static let maximumCount = 16
    /// The number of turns of one token.
    static let maximumPerToken = 4
    /// The number of followers of one token that have a turn or wait for one.
    static let maximumFollowers = 1024

    private let all = AsyncSemaphore(maximumCount)
    /// The turns of each token that has ever waited for one.
    private let own = Mutex<[String: AsyncSemaphore]>([:])
    private let followers = InFlightOperations(maximum: maximumFollowers)

    /// Counts a follower of a token until the permit is released; throws a problem when the token has too many.
    func enter(_ token: String) throws(APIProblem) -> OperationPermit {
        if let permit = followers.begin(token) { return permit }
        throw APIProblem(
            .unavailable, "too many event streams of the token wait to read older events; try again later",
            retryAfter: 5)
    }

    /// Acquires a turn for a follower that has entered; returns nil when the task is cancelled or the server
    /// stops.
    func acquire(_ token: String) async -> Turn? {
        let own = own.withLock { own in
            let turns = own[token] ?? AsyncSemaphore(Self.maximumPerToken)
            own[token] = turns
            return turns
        }
        guard await own.acquire() else { return nil }
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
        for turns in own.withLock({ Array($0.values) }) { turns.close() }
    }
}
