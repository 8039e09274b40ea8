import BalloonPOSIX
import Synchronization

/// Recognizes choices that certainly do not repeat a recent choice, by fingerprints in memory.
///
/// Any other choice may repeat one that the customer made within the window, so its conversation must be read. A
/// fingerprint takes about 16 bytes and is kept for at least twice the window. Above the maximum count, older
/// fingerprints are dropped, and conversations are read instead.
final class RecentChoices: Sendable {
    private struct Generation {
        var fingerprints: Set<Int> = []
        /// The arrival time of the latest choice in this generation.
        var latest: Int64
    }

    private struct State {
        var young: Generation
        var old: Generation
        /// Every choice recorded after this time is in one of the two generations.
        var completeAfter: Int64
    }

    private let windowMilliseconds: Int64
    private let maximumCount: Int
    private let state: Mutex<State>

    /// Starts without fingerprints; each of the two generations keeps at most `maximumCount`.
    ///
    /// Choices until `begin`, the time of the latest message that an earlier process recorded, are unknown.
    init(windowMilliseconds: Int64, after begin: Timestamp?, maximumCount: Int = 1 << 18) {
        self.windowMilliseconds = windowMilliseconds
        self.maximumCount = maximumCount
        let begin = begin?.milliseconds ?? 0
        let none = Generation(latest: begin)
        state = Mutex(State(young: none, old: none, completeAfter: begin))
    }

    /// Records a choice that arrived at `receivedAt`; true when certainly no equal choice arrived within the window
    /// before it.
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
