import BalloonPOSIX
import BusinessMessages
import GatewayClient
import MessageStore

/// The inputs and outputs of ``GatewayHealth``: finished attempts, and the resulting actions.
extension GatewayHealth {
    /// An attempt to send a reply, while it is in progress or after it ended.
    struct Attempt: Sendable, Hashable {
        let id: ReplyID
        let business: BusinessID
        let customer: CustomerID
        let begunAt: Timestamp
        /// The question that the attempt answers when it is a probe; nil for any other attempt.
        var probe: Probe?
    }

    /// The question that a probe answers; a probe is an attempt whose result shows the state of the gateway.
    enum Probe: Sendable, Hashable {
        /// Whether the gateway accepts replies again.
        case everything
        /// Whether the gateway accepts replies of this business again.
        case business(BusinessID)

        /// The business that is probed; nil for everything.
        var business: BusinessID? { if case .business(let business) = self { business } else { nil } }
    }

    /// A consequence of a finished attempt.
    enum Action: Sendable, Equatable {
        /// The reply of the attempt ends as refused, because the gateway refuses this message alone.
        case refuse
        /// Sending resumes for this business, or for all businesses when the value is nil.
        ///
        /// With `isAnnounced`, a log line has named the pause.
        case resumed(BusinessID?, isAnnounced: Bool)
    }

    /// The reply to lease now.
    struct Lease: Sendable, Equatable {
        let selection: OutboxSelection
        /// The question that the reply's attempt answers; nil when it is no probe.
        let probe: Probe?

        init(_ selection: OutboxSelection, _ probe: Probe?) {
            self.selection = selection
            self.probe = probe
        }
    }

    /// The replies that the gateway refuses for an unknown cause, each of which waits alone.
    struct UnexplainedRefusals: Sendable, Equatable {
        let count: Int
        /// The status of the latest refusal.
        let status: Int
    }
}

extension SendDecision {
    /// The cause of a pause after this decision; nil after one that pauses nothing.
    var cause: OutboxPause.Cause? {
        switch self {
        case .credentialRefused(let status, let reason): .refused(status: status, reason: reason)
        case .wait(let reason, _, isOutage: true): .outage(reason: reason)
        case .accepted, .refused, .wait, .interrupted: nil
        }
    }
}
