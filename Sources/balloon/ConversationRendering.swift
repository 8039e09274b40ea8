import BalloonPOSIX
import BusinessMessages
import MessageServer
import MessageStore

/// Formats conversations for standard output, as text or JSON; every result ends its line.
enum ConversationRendering {
    /// `2026-11-21T10:00:00.123Z  5  BUSINESS  CUSTOMER`, and the state of a conversation that is not with its handler.
    static func text(_ summary: ConversationFiles.Summary, _ assignment: Assignment) -> String {
        let state = assignment.state == .handler ? "" : "  " + text(assignment)
        return terminalText(
            "\(summary.lastAt)  \(summary.lines)  \(summary.business)  \(summary.customer)\(state)") + "\n"
    }

    /// `{"business":"…","customer":"…","lines":5,"lastAt":"…","state":"person","since":"…","person":{"id":"ana"},…}`.
    static func json(_ summary: ConversationFiles.Summary, _ assignment: Assignment) -> String {
        jsonLine { writer in
            writer.field("business", summary.business.rawValue)
            writer.field("customer", summary.customer.rawValue)
            writer.field("lines", summary.lines)
            writer.field("lastAt", summary.lastAt.rfc3339)
            assignment.write(to: &writer)
        }
    }

    /// `BUSINESS  CUSTOMER  with Ana (agent-7) since 2026-11-21T10:00:00.123Z`.
    static func text(_ business: BusinessID, _ customer: CustomerID, _ assignment: Assignment) -> String {
        terminalText("\(business)  \(customer)  \(text(assignment))") + "\n"
    }

    /// `{"business":"…","customer":"…","state":"person","since":"…","person":{"id":"ana"},…}`.
    static func json(_ business: BusinessID, _ customer: CustomerID, _ assignment: Assignment) -> String {
        jsonLine { writer in
            writer.fields(["business": business.rawValue, "customer": customer.rawValue])
            assignment.write(to: &writer)
        }
    }

    /// `waiting since 2026-11-21T10:00:00.123Z: asks for a person`.
    private static func text(_ assignment: Assignment) -> String {
        let state =
            switch assignment.state {
            case .handler: "with the handler"
            case .waiting: "waiting"
            case .person: "with \(assignment.person.map { "\($0)" } ?? "a person")"
            case .closed: "closed"
            }
        return state + (assignment.since.map { " since \($0)" } ?? "")
            + ((assignment.note ?? assignment.reason).map { ": \($0)" } ?? "")
    }

    /// `2026-11-21T10:00:00.123Z  customer  text: Good morning`; for an unsent reply the line adds the
    /// reason.
    static func text(_ line: ConversationLine) -> String {
        if line.direction == .internal {
            let author = line.author?.person.map { "\($0)" } ?? line.author?.name ?? "person"
            return terminalText("\(line.at)  \(author)  \(line.internalSummary)") + "\n"
        }
        let who = line.direction == .inbound ? "customer" : "business"
        let isAccepted = line.outcome == nil || line.outcome == "accepted"
        let status = line.status.map { " \($0)" } ?? ""
        let outcome = isAccepted ? "" : "  (\(line.outcome ?? "")\(status))"
        let summary = MessageSummary.line(
            of: line.message, kind: line.kind, isFromBusiness: line.direction == .outbound)
        return terminalText("\(line.at)  \(who)  \(summary)")
            + TerminalStyle.output.failure(terminalText(outcome)) + "\n"
    }

    /// `2026-11-21T10:00:00.123Z  business  handed off to a person: asked for one`.
    static func handOffText(_ event: JournalEvent) -> String {
        let reason = event.reason.map { ": \($0)" } ?? ""
        return terminalText("\(event.at)  business  handed off to a person\(reason)") + "\n"
    }

    /// `{"record":12,"outcome":"handedOff","reason":"…"}`.
    static func handOffJSON(_ event: JournalEvent) -> String {
        jsonLine([
            "record": Int(clamping: event.record), "outcome": event.status.rawValue, "reason": event.reason,
        ])
    }

    /// The JSON of the line, as it is in the conversation's file; `withFiles` adds the files that the customer sent:
    /// `"files":[{"sha256":"…","size":4711},{"failure":"…"}]`.
    static func json(_ line: ConversationLine, withFiles: Bool = false) -> String {
        jsonLine { writer in
            writer.fields([
                "seq": line.sequence, "at": line.at.rfc3339, "direction": line.direction.rawValue,
                "id": line.id.rawValue, "kind": line.kindName, "customer": line.customer.rawValue,
                "record": Int(clamping: line.record), "outcome": line.outcome, "status": line.status,
            ])
            writer.line(author: line.author)
            writer.field("message", line.message)
            if withFiles, !line.files.isEmpty { writer.fields(["files": line.files]) }
        }
    }
}
