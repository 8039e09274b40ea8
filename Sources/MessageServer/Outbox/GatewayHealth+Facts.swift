import BalloonPOSIX
import BusinessMessages
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
        /// Whether an earlier 401 or 403 for another reply, the suspect, concerned that reply alone.
        case question
        /// Whether the gateway accepts replies again.
        case pause
        /// Whether the gateway accepts replies of this business again.
        case business(BusinessID)
    }

    /// The result of an attempt.
    enum Answer: Sendable, Equatable {
        case accepted
        /// The gateway answered with 401 or 403, even after the token was renewed.
        case credentialRefused(status: Int, reason: String)
        case outage(reason: String, retryAfter: Duration?)
        /// The gateway refused this message, for a reason that does not concern other messages.
        case messageRefused
        /// The attempt shows nothing about the gateway: for example, no message was sent, or a file was not
        /// uploaded.
        case unsent
    }

    /// The next step for a reply whose attempt ended.
    enum Action: Sendable, Equatable {
        /// The reply keeps its lease until the cause of the refusal is known.
        case hold(ReplyID)
        /// The reply returns to its place in the queue and is retried; the attempt does not count.
        case release(ReplyID)
        /// The reply ends as refused.
        case refuse(ReplyID, status: Int, reason: String)
        /// Sending resumes for this business, or for all businesses when the value is nil.
        case resumed(BusinessID?)
    }

    /// The reply to lease now, or the time until which no reply may be leased.
    enum Next: Sendable, Equatable {
        case lease(OutboxSelection, probe: Probe?)
        /// No reply may be sent before this time; nil means before an attempt in progress has ended.
        case wait(until: Timestamp?)
    }
}

extension GatewayHealth.Attempt {
    struct Conversation: Sendable, Hashable {
        let business: BusinessID
        let customer: CustomerID
    }

    var conversation: Conversation { Conversation(business: business, customer: customer) }
}
