import BalloonPOSIX
import HandlerKit
import MessageServer
import MessageStore

/// Formats events for standard output, as text or JSON; each result ends with a line feed.
enum EventRendering {
    /// Formats an event as one line of text.
    ///
    /// `12  2026-11-21T10:00:00.123Z  failed  BUSINESS  CUSTOMER  text: Good morning  (the handler threw …)`.
    ///
    /// When a reply was not accepted, the status also says what happened to it:
    /// `handled, 1 of 2 replies refused`.
    static func text(_ event: JournalEvent) -> String {
        let summary = summary(event)
        let reason = event.reason.map { "  (\($0))" } ?? ""
        let original = event.replayOf.map { "  (replay of \($0))" } ?? ""
        let status = terminalText(status(event))
        return terminalText("\(event.record)  \(event.at)  ")
            + (event.isDeadLetter ? TerminalStyle.output.failure(status) : status)
            + terminalText("  \(event.business)  \(event.customer)  \(summary)\(reason)\(original)") + "\n"
    }

    /// Formats a dead letter as text: its line, and below it each rule that the handler's answer breaks.
    ///
    /// `    /replies/0/interactiveData/data/quick-reply/items: found 1 items, allowed 2 to 5 items (quickReplyCount)`.
    static func deadLetter(_ event: JournalEvent) -> String {
        let problems = event.problems?.elements.map { problem in
            func text(_ name: String) -> String { problem[name]?.string ?? "" }
            let place = text("pointer").isEmpty ? "/" : text("pointer")
            return terminalText(
                "    \(place): found \(text("found")), allowed \(text("allowed")) (\(text("rule")))") + "\n"
        }
        return self.text(event) + (problems ?? []).joined()
    }

    /// Formats an event as one line of JSON.
    ///
    /// `{"record":12,"at":"…","status":"failed","business":"…","customer":"…","id":"…","kind":"text","attempts":7,`
    /// `"reason":"…","problems":[…],"replies":["accepted","refused"]}`.
    ///
    /// With `withMessage` it also has the message, without its secrets, and facts about the device.
    static func json(_ event: JournalEvent, withMessage: Bool) -> String {
        jsonLine { writer in
            writer.fields([
                "record": Int(clamping: event.record), "at": event.at.rfc3339,
                "status": event.status.rawValue, "business": event.business.rawValue,
                "customer": event.customer.rawValue, "id": event.id.rawValue, "kind": event.subscription.name,
                "attempts": event.attempts, "next": event.next?.rfc3339, "reason": event.reason,
                "problems": event.problems,
            ])
            if !event.replies.isEmpty {
                writer.list("replies", event.replies.map(\.rawValue))
            }
            writer.field("excess", withMessage ? content(event)?.excess : nil)
            writer.field("replayOf", event.replayOf.map { Int(clamping: $0) })
            guard withMessage else { return }
            writer.fields(["version": event.attributes.version, "deviceAgent": event.attributes.deviceAgent])
            writer.key("message")
            guard !event.isReplyFailure else {
                return writer.raw(ReplyRendering.redacted(Array(event.message.text)))
            }
            writer.raw(content(event)?.redactedMessage ?? Array(event.message.text))
        }
    }

    private static func status(_ event: JournalEvent) -> String {
        let count = event.replies.count
        let exceptions = ReplyState.Status.allCases.compactMap { status -> String? in
            let with = event.replies.count { $0 == status }
            if status == .accepted || with == 0 { return nil }
            return "\(with) of \(count) \(count == 1 ? "reply" : "replies") \(status.rawValue)"
        }
        return ([event.status.rawValue] + exceptions).joined(separator: ", ")
    }

    private static func summary(_ event: JournalEvent) -> String {
        guard case .kind(let kind) = event.subscription else {
            let message = event.message
            let reply = [message["reply"]?.string, message["status"]?.string].compactMap(\.self)
            return "\(event.subscription.name): reply \(reply.joined(separator: " "))"
        }
        return MessageSummary.line(of: event.message, kind: kind, isFromBusiness: event.outboundKind != nil)
    }

    /// Decodes the event's message; never nil, because the journal contains only valid JSON messages.
    private static func content(_ event: JournalEvent) -> InboundEvent? {
        (try? JSONDocument(Array(event.message.text))).map { InboundEvent.decode(message: $0) }
    }
}
