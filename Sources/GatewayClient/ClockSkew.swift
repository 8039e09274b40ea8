import BalloonTransport
import Synchronization

/// Reports once that the clocks of this machine and the gateway differ.
///
/// Apple refuses the tokens of a machine whose clock is wrong, without naming the reason.
final class ClockSkew: Sendable {
    /// A difference that a slow answer alone does not explain.
    ///
    /// The tolerance of Apple is not known.
    static let toleratedSeconds = 60

    private let isReported = Atomic(false)

    /// Returns by how many seconds our clock is ahead, once, when the difference exceeds
    /// ``toleratedSeconds``.
    func notice(date: String?, now: Int) -> Int? {
        guard let date, let theirs = secondsSince1970(date) else { return nil }
        let ahead = now - theirs
        guard abs(ahead) > Self.toleratedSeconds,
            !isReported.exchange(true, ordering: .relaxed)
        else { return nil }
        return ahead
    }
}
