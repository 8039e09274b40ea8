import BalloonTransport
import Synchronization

/// A check that reports once that the clocks of this machine and the gateway differ.
///
/// Apple refuses the tokens of a machine whose clock is wrong, without naming the reason.
final class ClockSkew: Sendable {
    /// The difference in seconds up to which a slow answer may be the only reason.
    ///
    /// Apple's tolerance is not known.
    static let toleratedSeconds = 60

    private let isReported = Atomic(false)

    /// Returns the number of seconds by which our clock is ahead of the gateway's (negative when it is
    /// behind), or nil.
    ///
    /// Returns a number only once, for the first answer whose difference exceeds ``toleratedSeconds``. `date`
    /// is the field `Date` of the answer.
    func notice(date: String?, now: Int) -> Int? {
        guard let date, let theirs = secondsSince1970(date) else { return nil }
        let ahead = now - theirs
        guard abs(ahead) > Self.toleratedSeconds,
            !isReported.exchange(true, ordering: .relaxed)
        else { return nil }
        return ahead
    }
}
