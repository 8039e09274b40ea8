package import BalloonPOSIX
package import BusinessMessages

/// One message of a business that the fake gateway accepted for a customer.
package struct DeliveredMessage: Sendable {
    /// The number in the order of arrival, from 1.
    package let number: Int
    /// The time at which the message arrived for the first time.
    package let at: Timestamp
    /// The message's identity.
    package let id: MessageID
    /// The receiver.
    package let customer: CustomerID
    /// The sender.
    package let business: BusinessID
    /// The whole request body.
    package let message: JSONDocument
    /// Whether the header `auto-reply` marked the message as written by a program.
    package var isAutomatic = false
    /// The number of later arrivals of a message with the same id; the customer sees the message once.
    package var repeats = 0

    func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.fields([
                "number": number, "at": at.rfc3339, "id": id.rawValue, "customer": customer.rawValue,
                "business": business.rawValue, "message": message.root, "autoReply": isAutomatic,
                "repeats": repeats,
            ])
        }
    }
}

extension DeliveredMessage {
    /// Parses an element of the answer to `GET /_simulator/messages`; nil when a member is missing or
    /// malformed.
    init?(_ value: JSONValue) {
        guard let number = value["number"]?.int,
            let at = value["at"]?.string.flatMap({ Timestamp(rfc3339: $0) }),
            let id = value["id"]?.string, let customer = value["customer"]?.string,
            let business = value["business"]?.string, let message = value["message"],
            // Parsing does not fail: an element of a valid JSON answer is itself valid JSON.
            let document = try? JSONDocument(Array(message.text))
        else { return nil }
        self.init(
            number: number, at: at, id: MessageID(id), customer: CustomerID(customer),
            business: BusinessID(business), message: document,
            isAutomatic: value["autoReply"]?.bool ?? false, repeats: value["repeats"]?.int ?? 0)
    }
}
