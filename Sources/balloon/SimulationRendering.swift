import BalloonJSON
import BalloonPOSIX
import BusinessMessages
import Simulator

/// Formats sent messages and received replies, as text or JSON; every result ends its line.
struct SimulationRendering {
    let json: Bool

    /// `customer  text: Good morning`, or the message in an object with `direction` and `kind`.
    func sent(_ message: [UInt8]) -> String {
        // The server accepted the message, so it is valid JSON.
        guard let document = try? JSONDocument(message) else { return "" }
        return line("inbound", document.root)
    }

    /// `business  quickReply: Anything else? [A | B]`, or the message in the same kind of object.
    func reply(_ reply: DeliveredMessage) -> String { line("outbound", reply.message.root) }

    private func line(_ direction: String, _ message: JSONValue) -> String {
        let kind = MessageSummary.kind(of: message)
        guard json else {
            let who = direction == "inbound" ? "customer" : "business"
            return terminalText("\(who)  \(kind): \(MessageSummary.text(of: message, kind: kind))") + "\n"
        }
        return jsonLine { writer in
            writer.field("direction", direction)
            writer.field("id", message["id"]?.string)
            writer.field("kind", kind.rawValue)
            writer.field("message", message)
        }
    }
}
