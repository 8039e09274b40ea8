package import BalloonPOSIX
package import HandlerKit
package import MessageStore
import Payments

/// The messages and replies that a command chooses by their properties.
///
/// The server finds them itself, because a request cannot name hundreds of thousands of messages.
package struct MessageSelection: Sendable {
    /// Whether only dead letters are chosen; otherwise all messages that have ended, without the reports of
    /// failed replies.
    package var isOfDeadLetters = false
    /// Only those of this business.
    package var business: BusinessID?
    /// Only those of this kind.
    package var kind: Subscription?
    /// Only those of this time or later.
    package var since: Timestamp?
    /// Only those before this time.
    package var until: Timestamp?
    /// Only those with this status.
    package var status: JournalEvent.Status?

    /// Creates a selection of all messages and replies.
    package init() {}

    /// Whether the message passes the filters.
    package func admits(_ event: JournalEvent) -> Bool {
        (status == nil || event.status == status) && admits(event.business, at: event.at)
            && (kind == nil || event.subscription == kind)
    }

    /// Whether the reply passes the filters, by the time at which it was decided.
    package func admits(_ reply: JournalReply) -> Bool {
        (status == nil || reply.status.rawValue == status?.rawValue)
            && admits(reply.business, at: reply.decidedAt)
            && (kind == nil || .kind(reply.kind) == kind)
    }

    /// Whether the reversal passes the filters, by the time at which it became a dead letter.
    ///
    /// A reversal has neither the kind nor the status of a message.
    package func admits(_ reversal: AttemptReversal) -> Bool {
        status == nil && kind == nil && admits(reversal.business, at: reversal.attempt.changedAt)
    }

    /// Whether the message is chosen.
    package func chooses(_ event: JournalEvent) -> Bool {
        (isOfDeadLetters ? event.isDeadLetter : event.isFinished && !event.isReplyFailure) && admits(event)
    }

    /// Whether the reply is chosen; only dead letters are.
    package func chooses(_ reply: JournalReply) -> Bool { reply.isDeadLetter && admits(reply) }

    private func admits(_ business: BusinessID, at time: Timestamp) -> Bool {
        (self.business == nil || business == self.business)
            && since.map { time >= $0 } ?? true && until.map { time < $0 } ?? true
    }

    /// `{"deadLetters":true,"business":"…","kind":"text","since":"…","until":"…","status":"failed"}`; each member may be missing.
    ///
    /// A filter that cannot be read must not choose more messages than the command named, so it makes the selection unreadable.
    static let form = JSONObjectForm(
        MessageSelection(),
        [
            JSONField(flag: "deadLetters", \.isOfDeadLetters),
            JSONField("business", optional: \.business, .business, isStrict: true),
            JSONField(
                "kind", optional: \.kind, JSONForm(.text, { Subscription(name: $0) }, \.name), isStrict: true),
            JSONField("since", optional: \.since, .time, isStrict: true),
            JSONField("until", optional: \.until, .time, isStrict: true),
            JSONField("status", optional: \.status, .word, isStrict: true),
        ])
}

extension JournalEvent {
    /// The subscription that delivers this event to a handler: `replyFailed`, or the kind of its message.
    ///
    /// An event whose kind the journal does not have yet is decoded.
    package var subscription: Subscription {
        if isReplyFailure { return .replyFailed }
        // The journal has only valid JSON messages.
        let content = kind == nil ? try? JSONDocument(Array(message.text)) : nil
        return .kind(kind ?? content.map { InboundEvent.decode(message: $0).kind } ?? .unrecognized)
    }
}
