import BalloonPOSIX
import BusinessMessages
import MessageServer
import MessageStore

/// Formats replies for standard output, as text or JSON; each result ends with a line feed.
enum ReplyRendering {
    /// Formats a reply as one line of text.
    ///
    /// `57.1  2026-11-21T10:00:00.123Z  queued  BUSINESS  CUSTOMER  text: Good morning  (3 attempts, next at …)`.
    static func text(_ reply: JournalReply) -> String {
        let status = reply.status.rawValue
        return terminalText("\(reply.id)  \(reply.decidedAt)  ")
            + (reply.isDeadLetter ? TerminalStyle.output.failure(status) : status)
            + terminalText("  \(reply.business)  \(reply.customer)  \(summary(reply))\(remark(reply))") + "\n"
    }

    /// Formats a reply as one line of JSON.
    ///
    /// `{"reply":"57.1","at":"…","status":"refused","business":"…","customer":"…","id":"…","kind":"text","inReplyTo":"…",`
    /// `"attempts":1,"httpStatus":400,"reason":"…"}`; `withMessage` adds the message without its secrets.
    static func json(_ reply: JournalReply, withMessage: Bool) -> String {
        jsonLine { writer in
            writer.fields([
                "reply": "\(reply.id)", "at": reply.decidedAt.rfc3339, "status": reply.status.rawValue,
                "business": reply.business.rawValue, "customer": reply.customer.rawValue,
                "id": reply.messageID.rawValue, "kind": reply.kind.rawValue,
                "inReplyTo": reply.inReplyTo?.rawValue, "attempts": reply.attempts,
                "next": reply.next?.rfc3339, "httpStatus": reply.httpStatus, "reason": reply.reason,
            ])
            guard withMessage else { return }
            writer.raw("message", redacted(reply.message))
        }
    }

    /// A queued reply in the form of a conversation line, before that line is written.
    static func conversationText(_ reply: JournalReply) -> String {
        terminalText("\(reply.decidedAt)  business  \(summary(reply))  (queued)") + "\n"
    }

    /// The same as JSON: the future line, with `"outcome":"queued"` and without a number.
    static func conversationJSON(_ reply: JournalReply) -> String {
        jsonLine([
            "at": reply.decidedAt.rfc3339, "direction": ConversationLine.Direction.outbound.rawValue,
            "id": reply.messageID.rawValue, "kind": reply.kind.rawValue, "customer": reply.customer.rawValue,
            "record": Int(clamping: reply.id.record), "outcome": ReplyState.Status.queued.rawValue,
            "message": JSONText(redacted(reply.message)),
        ])
    }

    private static func summary(_ reply: JournalReply) -> String {
        message(reply).map { MessageSummary.line(of: $0.root, kind: reply.kind, isFromBusiness: true) }
            ?? reply.kind.rawValue
    }

    private static func remark(_ reply: JournalReply) -> String {
        let parts = [reply.status == .accepted ? nil : reply.httpStatus.map { "\($0)" }, reply.reason]
            .compactMap(\.self)
        if !parts.isEmpty { return "  (\(parts.joined(separator: ": ")))" }
        guard reply.status == .queued, reply.attempts > 0 else { return "" }
        return "  (\(reply.attempts) attempts\(reply.next.map { ", next at \($0)" } ?? ""))"
    }

    /// The message without the secrets that the gateway and the customer's device need.
    static func redacted(_ message: [UInt8]) -> [UInt8] {
        // Never nil, because the journal contains only valid JSON messages.
        (try? JSONDocument(message)).flatMap { OutboundMessage.redacted($0.root) } ?? message
    }

    /// Parses the reply's message; never nil, because the journal contains only valid JSON messages.
    private static func message(_ reply: JournalReply) -> JSONDocument? { try? JSONDocument(reply.message) }
}
