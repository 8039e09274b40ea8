import BalloonTransport

/// The difference in seconds up to which a slow answer may be the only reason.
///
/// Apple's tolerance is not known. It refuses the tokens of a machine whose clock is wrong, without naming the reason.
private let toleratedSeconds = 60

/// Returns the number of seconds by which our clock is ahead of the gateway's (negative when it is behind); nil when
/// a slow answer may be the only reason, or the gateway's clock is unknown.
///
/// `date` is the field `Date` of the answer.
func clockSkew(date: String?, now: Int) -> Int? {
    guard let date, let theirs = secondsSince1970(date), abs(now - theirs) > toleratedSeconds else {
        return nil
    }
    return now - theirs
}
