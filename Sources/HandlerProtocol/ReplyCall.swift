package import HandlerKit

/// The parameters of `reply`: a message that answers no event.
///
/// ```json
/// {"customer": "…", "key": "order-12-ready", "message": "Your bread is ready."}
/// ```
/// `customer` is the value from an event. Calls with the same key for the same customer mean the same
/// message. The server answers with `{"messageId": "…"}` when the message is on disk.
package struct ReplyCall: Hashable, Sendable {
    /// The receiver.
    package let customer: CustomerID
    /// The key by which the server recognizes a repeated call for the same message.
    package let key: String
    /// The content.
    package let message: Reply

    /// Creates the parameters.
    package init(customer: CustomerID, key: String, message: Reply) {
        self.customer = customer
        self.key = key
        self.message = message
    }

    /// Parses the `params` of `reply`.
    package init(_ params: JSONValue) throws(HandlerProtocolError) {
        guard let customer = params["customer"]?.string else { throw .malformed("customer") }
        guard let key = params["key"]?.string else { throw .malformed("key") }
        guard let message = params["message"] else { throw .malformed("message") }
        do throws(AnswerRefusal) {
            let reply = try EventAnswer.reply(message, in: params)
            self.init(customer: CustomerID(customer), key: key, message: reply)
        } catch {
            throw .refused(error)
        }
    }

    /// Writes the members of the `params` of `reply`; the server replaces the ids in the message.
    package func write(from business: BusinessID, to writer: inout JSONWriter) {
        writer.field("customer", customer.rawValue)
        writer.field("key", key)
        writer.raw("message", message.encodeForServer(from: business, to: customer))
    }
}

extension RPCFailure {
    /// Creates the error that the handler receives when the server refuses its message.
    package init(_ error: HandlerHostError) {
        switch error {
        case .unusableMessage(let refusal): self.init(refusal)
        case .unusableKey, .unusableCustomer:
            self.init(code: Code.invalidParameters, message: error.reason)
        case .withPerson: self.init(code: Code.withPerson, message: error.reason)
        case .noConsent: self.init(code: Code.noConsent, message: error.reason)
        case .noConversations: self.init(code: Code.permanent, message: error.reason)
        case .notStored: self.init(code: Code.retryable, message: error.reason)
        }
    }

    /// Creates the error for a message that breaks rules; the error lists all of them.
    package init(_ refusal: AnswerRefusal) {
        self.init(
            code: Code.invalidParameters, message: refusal.explanation, problems: refusal.problems)
    }

    /// Creates the error for parameters that cannot be read.
    package init(_ error: HandlerProtocolError) {
        if case .refused(let refusal) = error {
            self.init(refusal)
        } else {
            self.init(code: Code.invalidParameters, message: "\(error)")
        }
    }
}
