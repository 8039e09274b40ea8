import HandlerKit
import HandlerProtocol
import MessageServer

extension HandlerCheck {
    /// A device that shows less than an iPhone.
    struct Device {
        let name: String
        let capabilities: Capabilities

        static let all =
            [DeviceOptions.Device.mac, .oldIPhone].map {
                Device(name: $0.rawValue, capabilities: $0.capabilities)
            }
            + [Device(name: "a device that shows only texts", capabilities: [])]

        /// The problem of a customer with this device; nil when the answer reaches the customer.
        ///
        /// `elsewhere` is the number of replies that a customer with an iPhone gets.
        func problem(with result: JSONValue, elsewhere: Int?) -> HandlerCheck.Finding.Verdict? {
            guard let outcome = HandlerCheck.outcome(result) else {
                return .failed("the answer is refused", correction: "answer this device as an iPhone")
            }
            for (index, reply) in outcome.replies.enumerated() {
                do throws(UnsupportedMessage) {
                    _ = try reply.showable(on: capabilities, allowsClassicSignIn: true)
                } catch {
                    return .failed(
                        "the customer gets nothing: the device has no \(error.missing.rawValue), and /replies/\(index) has no fallback",
                        correction:
                            "give the \(reply.kind.rawValue) a \"fallback\": a text that asks the same in words"
                    )
                }
            }
            guard case .handled([]) = outcome, let elsewhere, elsewhere > 0 else { return nil }
            return .failed(
                "the customer gets nothing: an iPhone gets \(elsewhere) \(elsewhere == 1 ? "reply" : "replies")",
                correction: "answer this device in words, or give the message a \"fallback\"")
        }
    }

    /// The outcome of an answer; nil when it is refused.
    static func outcome(_ result: JSONValue) -> Outcome? {
        // The check of the event itself reports the problems.
        try? EventAnswer.outcome(result, allowingFiles: true)
    }
}

extension HandlerCheck.Sample {
    /// Returns the same event from another device and with another id, because a program may remember events.
    func sent(from device: HandlerCheck.Device) -> HandlerCheck.Sample {
        var attributes = event.attributes
        attributes.capabilities = device.capabilities
        let id = JSONWriter.quoted(MessageID.random().rawValue)
        // The text is JSON, so that parsing succeeds.
        guard let message = try? JSONDocument(event.message.replacing(members: ["id": id])) else {
            return self
        }
        return HandlerCheck.Sample(
            event: InboundEvent.decode(message: message, attributes: attributes), file: file)
    }
}

extension HandlerCheck.Finding.Verdict {
    static let questionWithoutText = HandlerCheck.Finding.Verdict.warned(
        "a quick reply comes without a text before it, so the customer sees no question",
        correction: "send the question as a text first: a device shows summaryText only in its notification")
}
