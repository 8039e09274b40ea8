import BalloonPOSIX
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

/// Reads an `IMF-fixdate` (RFC 9110 §5.6.7), `Sun, 06 Nov 1994 08:49:37 GMT`; nil for the obsolete forms.
func secondsSince1970(_ date: String) -> Int? {
    let parts = date.split(separator: " ")
    let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    guard parts.count == 6, parts[5] == "GMT", parts[1].utf8.count == 2, parts[3].utf8.count == 4,
        let month = months.firstIndex(of: String(parts[2]))
    else { return nil }
    let number = month < 9 ? "0\(month + 1)" : "\(month + 1)"
    let timestamp = Timestamp(rfc3339: "\(parts[3])-\(number)-\(parts[1])T\(parts[4])Z")
    return timestamp.map { Int($0.milliseconds / 1000) }
}
