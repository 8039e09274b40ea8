package import BalloonJSON
package import HandlerKit

/// The parameters of `reply`: a message that answers no event.
///
/// ```json
/// {"customer": "…", "key": "order-12-ready", "message": "Your bread is ready."}
/// ```
/// `customer` is the event's. The same key for the same customer is the same message. The result is
/// `{"messageId": "…"}`, given when the message is on disk.
package struct ReplyCall: Hashable, Sendable {
    /// To whom.
    package let customer: CustomerID
    /// What makes a repetition the same message.
    package let key: String
    /// What is said.
    package let message: Reply

    /// Takes everything.
    package init(customer: CustomerID, key: String, message: Reply) {
        self.customer = customer
        self.key = key
        self.message = message
    }

    /// Reads the parameters.
    package init(_ params: JSONValue) throws(HandlerProtocolError) {
        guard let customer = params["customer"]?.string else { throw .malformed("customer") }
        guard let key = params["key"]?.string else { throw .malformed("key") }
        guard let message = params["message"] else { throw .malformed("message") }
        guard let reply = EventAnswer.reply(message) else { throw .unusableReply(0) }
        self.init(customer: CustomerID(customer), key: key, message: reply)
    }

    /// Writes the members; the ids in the message are the server's to replace.
    package func write(from business: BusinessID, to writer: inout JSONWriter) {
        writer.field("customer", customer.rawValue)
        writer.field("key", key)
        writer.key("message")
        writer.raw(message.encode(id: .random(), from: business, to: customer))
    }
}

extension RPCFailure {
    /// What a handler is told when its message was not taken.
    package init(_ error: HandlerHostError) {
        switch error {
        case .unusableKey, .unusableCustomer, .unusableMessage:
            self.init(code: Code.invalidParameters, message: error.reason)
        case .notStored: self.init(code: Code.retryable, message: error.reason)
        }
    }
}
