import BalloonPOSIX
import Synchronization

/// What customers chose moments ago, by fingerprint alone, so that hardly any choice needs a look into its conversation.
///
/// A fingerprint takes some 16 bytes, for at least twice the window; when there are more than the bound, older ones are
/// forgotten and conversations are looked into instead.
final class RecentChoices: Sendable {
    private struct Generation {
        var fingerprints: Set<Int> = []
        /// The latest of them came in at this time.
        var latest: Int64
    }

    private struct State {
        var young: Generation
        var old: Generation
        /// Everything that came in later, and was noted, is in one of the two.
        var completeAfter: Int64
    }

    private let windowMilliseconds: Int64
    private let maximumCount: Int
    private let state: Mutex<State>

    /// Knows nothing of what came in until `begin`, the time of the latest message that somebody else may have noted;
    /// each of two generations has at most `maximumCount`.
    init(windowMilliseconds: Int64, after begin: Timestamp?, maximumCount: Int = 1 << 18) {
        self.windowMilliseconds = windowMilliseconds
        self.maximumCount = maximumCount
        let begin = begin?.milliseconds ?? 0
        let none = Generation(latest: begin)
        state = Mutex(State(young: none, old: none, completeAfter: begin))
    }

    /// Notes a choice that came in at `receivedAt`; whether it is sure that none like it, among those that were noted
    /// before, came in during the window before it.
    func isFirst(_ fingerprint: Int, receivedAt: Timestamp) -> Bool {
        let receivedAt = receivedAt.milliseconds
        return state.withLock { state in
            if receivedAt - state.old.latest > 2 * windowMilliseconds
                || state.young.fingerprints.count >= maximumCount
            {
                state.completeAfter = max(state.completeAfter, state.old.latest)
                state.old = state.young
                state.young = Generation(latest: state.old.latest)
            }
            let isNew =
                state.young.fingerprints.insert(fingerprint).inserted
                && !state.old.fingerprints.contains(fingerprint)
            state.young.latest = max(state.young.latest, receivedAt)
            return isNew && receivedAt - windowMilliseconds > state.completeAfter
        }
    }
}
