import BalloonPOSIX
import BusinessMessages
import MessageServer
import MessageStore

/// Formats sent messages and received replies, as text or JSON; each result ends with a line feed.
struct SimulationRendering {
    let json: Bool

    /// Formats a sent message: `customer  text: Good morning`, or a JSON object with `direction`, `kind` and the
    /// message.
    func sent(_ message: [UInt8]) -> String {
        // The server accepted the message, so parsing it does not fail.
        guard let document = try? JSONDocument(message) else { return "" }
        return line("inbound", document.root)
    }

    /// Formats a received reply: `business  quickReply: Anything else? [A | B]`, or a JSON object with `direction`,
    /// `kind` and the message.
    func reply(_ message: JSONValue) -> String { line("outbound", message) }

    /// Formats the replies of a delivery, each with its state unless it was accepted, and then how the delivery ended.
    ///
    /// The end is `handled, no reply`, `no handler for this kind` or `dead letter 57: the handler threw …`. As text
    /// it is left out when a handled message has replies; as JSON it is always written:
    /// `{"record":57,"status":"handled","ended":true,"kind":"text","reason":"…","replies":[…]}`.
    func delivery(_ answer: DeliveryAnswer, omitsAccepted: Bool = false) -> String {
        var lines = ""
        for reply in answer.replies where !(omitsAccepted && reply.status == .accepted) {
            // The server wrote this message, so parsing it does not fail.
            if let document = try? JSONDocument(reply.message) { lines += self.reply(document.root) }
            guard reply.status != .accepted else { continue }
            let status = reply.httpStatus.map { " (\($0))" } ?? ""
            let reason = reply.reason.map { ": \($0)" } ?? ""
            if !json {
                lines += terminalText("  not accepted, \(reply.status.rawValue)\(status)\(reason)") + "\n"
            }
        }
        return lines + (json ? endJSON(answer) : endText(answer).map { terminalText($0) + "\n" } ?? "")
    }

    private func endText(_ answer: DeliveryAnswer) -> String? {
        let reason = answer.reason.map { ": \($0)" } ?? ""
        guard answer.isEnded else {
            return
                "not ended, \(answer.attempts) attempts; message \(answer.record) stays in the journal\(reason)"
        }
        return switch answer.status {
        case .handled: answer.replies.isEmpty ? "handled, no reply" : nil
        case .unhandled: "no handler for this kind"
        case .failed, .rejected: "dead letter \(answer.record)\(reason)"
        case .handedOff: "handed off to a person\(reason)"
        case .withPerson: "left to a person"
        case .repeated: "handled before: the message repeats a recent choice"
        case .dropped: "dropped\(reason)"
        case .erased: "erased with its customer"
        case .retried: "delivered again after it was a dead letter"
        case .pending, .parked: nil
        }
    }

    private func endJSON(_ answer: DeliveryAnswer) -> String {
        jsonLine([
            "record": Int(clamping: answer.record), "status": answer.status.rawValue, "ended": answer.isEnded,
            "kind": answer.kind?.rawValue, "reason": answer.reason,
            "replies": answer.replies.map { reply in
                JSONObject([
                    "id": reply.id.rawValue, "status": reply.status.rawValue, "httpStatus": reply.httpStatus,
                    "reason": reply.reason,
                ])
            },
        ])
    }

    private func line(_ direction: String, _ message: JSONValue) -> String {
        let kind = MessageSummary.kind(of: message)
        guard json else {
            let who = direction == "inbound" ? "customer" : "business"
            let summary = MessageSummary.line(
                of: message, kind: kind, isFromBusiness: direction == "outbound")
            return terminalText("\(who)  \(summary)") + "\n"
        }
        return jsonLine([
            "direction": direction, "id": message["id"]?.string, "kind": kind.rawValue, "message": message,
        ])
    }
}
