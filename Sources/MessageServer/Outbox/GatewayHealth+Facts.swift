import BalloonPOSIX
import BusinessMessages
import MessageStore

/// The inputs and outputs of ``GatewayHealth``: finished attempts, and the resulting actions.
extension GatewayHealth {
    /// A reply that is being tried.
    struct Attempt: Sendable, Hashable {
        let id: ReplyID
        let business: BusinessID
        let customer: CustomerID
        let begunAt: Timestamp
        /// The question that the attempt answers, if it is a probe.
        var probe: Probe?
    }

    /// The question that a probe answers; a probe is an attempt from which the state of the gateway is learned.
    enum Probe: Sendable, Hashable {
        /// Whether a 401 or 403 for another reply, the suspect, was about that reply alone.
        case question
        /// Whether the gateway accepts replies again.
        case pause
        /// Whether the gateway accepts replies of this business again.
        case business(BusinessID)
    }

    /// How an attempt ended.
    enum Answer: Sendable, Equatable {
        case accepted
        /// 401 or 403, also with a fresh token.
        case credentialRefused(status: Int, reason: String)
        case outage(reason: String, retryAfter: Duration?)
        /// The gateway refused this message, for a reason that concerns no other message.
        case messageRefused
        /// The attempt says nothing about the gateway: no message was sent, or a file could not be uploaded.
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
        /// Sending resumes, for one business or, with nil, for all.
        case resumed(BusinessID?)
    }

    /// The reply to lease now, or the time until which none may be leased.
    enum Next: Sendable, Equatable {
        case lease(OutboxSelection, probe: Probe?)
        /// No reply may be sent before this time, or, with nil, before an attempt that runs now has ended.
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
