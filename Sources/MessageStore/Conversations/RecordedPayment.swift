package import BalloonJSON

/// The record of a payment that ended while no handler answered.
///
/// It is for the person who has the conversation:
/// `{"state":"paid","amount":"63.99","currency":"EUR","reference":"ch_1"}`.
package struct RecordedPayment: Hashable, Sendable, JSONWritable {
    /// The state of the last attempt, such as `paid`.
    package let state: String
    /// The sum as a decimal number in text form, such as `63.99`.
    package let amount: String
    /// The currency, three letters.
    package let currency: String
    /// The payment provider's identifier of the charge; nil when none is known.
    package let reference: String?

    /// Creates a record.
    package init(state: String, amount: String, currency: String, reference: String? = nil) {
        self.state = state
        self.amount = amount
        self.currency = currency
        self.reference = reference
    }

    /// Parses the member `payment` of a record or a line.
    init?(_ value: JSONValue?) {
        guard let value, let state = value["state"]?.string, let amount = value["amount"]?.string,
            let currency = value["currency"]?.string
        else { return nil }
        self.init(state: state, amount: amount, currency: currency, reference: value["reference"]?.string)
    }

    /// Writes the object.
    package func write(to writer: inout JSONWriter) {
        writer.object(["state": state, "amount": amount, "currency": currency, "reference": reference])
    }
}
