package import BalloonJSON

/// A problem that the payment sheet shows to the customer: Apple's `ApplePayError`.
public struct PaymentError: Hashable, Sendable, JSONWritable {
    /// The problem.
    public enum Code: String, CaseIterable, Sendable {
        /// The delivery address or the receiver is invalid.
        case shippingContactInvalid
        /// The payer's address or name is invalid.
        case billingContactInvalid
        /// The business does not deliver to this address.
        case addressUnserviceable
        /// The coupon code is invalid.
        case couponCodeInvalid
        /// The coupon code has expired.
        case couponCodeExpired
        /// Any other problem.
        case unknown
    }

    /// The field of a contact in which the problem is.
    public enum ContactField: String, CaseIterable, Sendable {
        /// The telephone number.
        case phoneNumber
        /// The mail address.
        case emailAddress
        /// The name.
        case name
        /// The pronunciation of the name.
        case phoneticName
        /// The postal address as a whole.
        case postalAddress
        /// The street.
        case addressLines
        /// The town.
        case locality
        /// The part of the town.
        case subLocality
        /// The postal code.
        case postalCode
        /// The state or the province.
        case administrativeArea
        /// The county.
        case subAdministrativeArea
        /// The country's name.
        case country
        /// The country, two letters of ISO 3166.
        case countryCode
    }

    /// The maximum number of errors of an answer.
    public static let maximumCount = 20
    /// The maximum length of a message in bytes.
    public static let maximumMessageBytes = 1024

    /// The problem.
    public let code: Code
    /// The field; only for ``Code/shippingContactInvalid`` and ``Code/billingContactInvalid``.
    public let contactField: ContactField?
    /// The text that the customer reads, in the customer's language.
    public let message: String

    /// Creates a problem.
    public init(_ code: Code, field contactField: ContactField? = nil, message: String = "") {
        self.code = code
        self.contactField = contactField
        self.message = message
    }

    package func write(to writer: inout JSONWriter) {
        writer.object([
            "code": code.rawValue, "contactField": contactField?.rawValue,
            "message": message.isEmpty ? nil : message,
        ])
    }

    /// Reads the member `errors` of an answer.
    static func list(of answer: JSONValue) throws(PaymentAnswerProblem) -> [PaymentError] {
        guard let list = answer.first("errors") else { return [] }
        try require(list.kind == .array, .type, at: "errors")
        try require(list.count <= maximumCount, .count, at: "errors")
        var errors: [PaymentError] = []
        for (index, value) in list.elements.enumerated() {
            let field = "errors[\(index)]"
            guard let code = value["code"]?.string.flatMap(Code.init) else {
                throw PaymentAnswerProblem(.errorCode, at: field + ".code")
            }
            let name = value.first("contactField")
            let contactField = name?.string.flatMap(ContactField.init)
            try require(name == nil || contactField != nil, .contactField, at: field + ".contactField")
            let message = value.first("message")
            try require(message == nil || message?.kind == .string, .type, at: field + ".message")
            errors.append(PaymentError(code, field: contactField, message: message?.string ?? ""))
        }
        return errors
    }

    static func check(_ errors: [PaymentError]) throws(PaymentAnswerProblem) {
        try require(errors.count <= maximumCount, .count, at: "errors")
        for (index, error) in errors.enumerated() {
            let isOfContact = [.shippingContactInvalid, .billingContactInvalid].contains(error.code)
            try require(
                error.contactField == nil || isOfContact, .contactField, at: "errors[\(index)].contactField")
            try require(
                error.message.utf8.count <= maximumMessageBytes, .text, at: "errors[\(index)].message")
        }
    }
}
