import BalloonPOSIX
import BusinessMessages
import GatewayClient

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

    private(set) var cause: Cause
    let since: Timestamp
    /// The time of the next probe.
    private(set) var probeAt: Timestamp
    /// Whether a probe is in progress.
    var isProbing = false
    private var backoff = Backoff(from: .seconds(1), to: .seconds(60))

    init(_ cause: Cause, at now: Timestamp) {
        self.cause = cause
        since = now
        probeAt = now.advanced(by: backoff.fail())
    }

    /// Whether the next probe may be sent now.
    func isDue(at now: Timestamp) -> Bool { !isProbing && probeAt <= now }

    /// Processes the result of a probe: returns whether the pause ends, and else sets the time of the next probe.
    mutating func endsWith(_ decision: SendDecision?, at now: Timestamp) -> Bool {
        switch decision {
        case .accepted: return true
        case .refused(.some, _):
            // The gateway works, but it may have refused the message before it checked the credential.
            if case .outage = cause { return true }
            backOff(at: now)
        case .credentialRefused(let status, let reason):
            cause = .refused(status: status, reason: reason)
            backOff(at: now)
        case .wait(let reason, let retryAfter, isOutage: true):
            cause = .outage(reason: reason)
            backOff(at: now, atLeast: retryAfter)
        // Another probe is allowed at once, because the attempt showed nothing about the gateway.
        case .refused, .wait, .interrupted, nil: (isProbing, probeAt) = (false, now)
        }
        return false
    }

    /// Doubles the wait before the next probe, after a probe that failed or for which no reply was available.
    mutating func backOff(at now: Timestamp, atLeast: Duration? = nil) {
        isProbing = false
        probeAt = now.advanced(by: backoff.fail(atLeast: atLeast))
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
