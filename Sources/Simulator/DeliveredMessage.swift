package import BalloonJSON
package import BalloonPOSIX
package import BusinessMessages

/// One message of a business as the fake gateway took it for a customer.
package struct DeliveredMessage: Sendable {
    /// From 1, in the order of arrival.
    package let number: Int
    /// When it arrived first.
    package let at: Timestamp
    /// Its identity.
    package let id: MessageID
    /// The receiver.
    package let customer: CustomerID
    /// The sender.
    package let business: BusinessID
    /// The whole body.
    package let message: JSONDocument
    /// Whether its header said that a program wrote it.
    package var isAutomatic = false
    /// How often it came again with the same id; the customer sees it once.
    package var repeats = 0

    func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.field("number", number)
            writer.field("at", at.rfc3339)
            writer.field("id", id.rawValue)
            writer.field("customer", customer.rawValue)
            writer.field("business", business.rawValue)
            writer.field("message", message.root)
            writer.field("autoReply", isAutomatic)
            writer.field("repeats", repeats)
        }
    }
}

extension DeliveredMessage {
    /// Reads an element of the answer to `GET /_simulator/messages`; nil when it is something else.
    init?(_ value: JSONValue) {
        guard let number = value["number"]?.int,
            let at = value["at"]?.string.flatMap({ Timestamp(rfc3339: $0) }),
            let id = value["id"]?.string, let customer = value["customer"]?.string,
            let business = value["business"]?.string, let message = value["message"],
            // It was valid inside the answer, so it is by itself.
            let document = try? JSONDocument(Array(message.text))
        else { return nil }
        self.init(
            number: number, at: at, id: MessageID(id), customer: CustomerID(customer),
            business: BusinessID(business), message: document,
            isAutomatic: value["autoReply"]?.bool ?? false, repeats: value["repeats"]?.int ?? 0)
    }
}
