import BalloonPOSIX
import BusinessMessages

/// A pause of sending: its cause, and the time of the next probe.
struct OutboxPause: Sendable, Equatable {
    /// The cause of the pause.
    enum Cause: Sendable, Equatable {
        /// The gateway refuses the credential for all businesses, or for one business.
        case refused(status: Int, reason: String)
        /// The gateway does not answer, or answers with 429 or 5xx.
        case outage(reason: String)
    }

    /// The time between two log lines about a pause.
    static let reportInterval = Duration.seconds(60)

    var cause: Cause
    let since: Timestamp
    /// The time of the next probe.
    private(set) var probeAt: Timestamp
    /// Whether a probe is in progress.
    var isProbing = false
    private var backoff = Backoff(from: .seconds(1), to: .seconds(60))
    private var reportedAt: Timestamp?

    init(_ cause: Cause, at now: Timestamp) {
        self.cause = cause
        since = now
        probeAt = now.advanced(by: backoff.fail())
    }

    /// Doubles the wait before the next probe, after a probe that failed or for which no reply was available.
    mutating func backOff(at now: Timestamp, atLeast: Duration? = nil) {
        isProbing = false
        probeAt = now.advanced(by: backoff.fail(atLeast: atLeast))
    }

    /// Allows another probe at once, after an attempt that showed nothing about the gateway.
    mutating func probeAgain(at now: Timestamp) {
        isProbing = false
        probeAt = now
    }

    /// The time of the next log line about the pause.
    var nextReport: Timestamp { reportedAt?.advanced(by: Self.reportInterval) ?? since }

    /// Whether a log line is due; if so, records that it is written now.
    mutating func isReportDue(at now: Timestamp) -> Bool {
        guard nextReport <= now else { return false }
        reportedAt = now
        return true
    }
}

extension GatewayHealth.Report {
    /// Whether the gateway refuses the MSP's credential, so that nothing is sent for any business.
    var isCredentialRefused: Bool {
        if business == nil, case .refused = cause { true } else { false }
    }
}

extension OutboxPause.Cause: CustomStringConvertible {
    /// The cause, as a text for the log.
    var description: String {
        switch self {
        case .refused(let status, let reason):
            "the gateway refuses with \(status)\(reason.isEmpty ? "" : ": \(reason)")"
        case .outage(let reason): reason
        }
    }
}
