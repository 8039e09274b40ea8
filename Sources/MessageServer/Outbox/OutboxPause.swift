import BalloonPOSIX
import BusinessMessages

/// Why replies are not sent for a while, and when the next one is tried.
struct OutboxPause: Sendable, Equatable {
    /// What the pause is about.
    enum Cause: Sendable, Equatable {
        /// The gateway refuses the credential, or one business.
        case refused(status: Int, reason: String)
        /// The gateway does not answer, or answers with 429 or 5xx.
        case outage(reason: String)
    }

    /// How often a pause is reported.
    static let reportInterval = Duration.seconds(60)

    var cause: Cause
    let since: Timestamp
    /// When a reply is tried next.
    private(set) var probeAt: Timestamp
    /// Whether a reply is being tried.
    var isProbing = false
    private var backoff = Backoff(from: .seconds(1), to: .seconds(60))
    private var reportedAt: Timestamp?

    init(_ cause: Cause, at now: Timestamp) {
        self.cause = cause
        since = now
        probeAt = now.advanced(by: backoff.fail())
    }

    /// Doubles the wait: a try has failed, or nothing was there to be tried.
    mutating func backOff(at now: Timestamp, atLeast: Duration? = nil) {
        isProbing = false
        probeAt = now.advanced(by: backoff.fail(atLeast: atLeast))
    }

    /// Tries another reply at once: the last one was not sent for reasons of its own.
    mutating func probeAgain(at now: Timestamp) {
        isProbing = false
        probeAt = now
    }

    /// When the pause is to be reported again.
    var nextReport: Timestamp { reportedAt?.advanced(by: Self.reportInterval) ?? since }

    /// Whether the pause is to be reported now; it counts as reported then.
    mutating func isReportDue(at now: Timestamp) -> Bool {
        guard nextReport <= now else { return false }
        reportedAt = now
        return true
    }
}

extension OutboxPause.Cause: CustomStringConvertible {
    /// What happened, for the log and for `/readyz?verbose`.
    var description: String {
        switch self {
        case .refused(let status, let reason):
            "the gateway refuses with \(status)\(reason.isEmpty ? "" : ": \(reason)")"
        case .outage(let reason): reason
        }
    }
}
