/// The reason why a handler's answer to a payment cannot be sent to the customer's device.
///
/// The problem names the field and the rule, never a value.
public struct PaymentAnswerProblem: Error, Hashable, Sendable {
    /// The rule that an answer breaks; each case describes a valid answer.
    public enum Rule: String, CaseIterable, Sendable {
        /// The answer is a JSON object.
        case object
        /// Every member has the documented type, and every required member is present.
        case type
        /// Every member is documented.
        case unknownMember
        /// Only the server sets `endpoints` and `merchantSession`.
        case serversMember
        /// The currency is a code of ISO 4217.
        case currency
        /// An amount is a decimal text with at most the decimals of its currency.
        case amount
        /// The total is more than zero, and a shipping cost is not negative.
        case sign
        /// The line items sum to the total, unless one of them is pending.
        case text
        /// A list is within its limit, and `newLineItems` is not empty.
        case count
        /// The line items, none of which is pending, sum to the total.
        case sum
        /// No two shipping methods have the same identifier.
        case shippingIdentifiers
        /// Only the answer to a changed address has new shipping methods.
        case shippingMethods
        /// The status is `STATUS_SUCCESS` or `STATUS_FAILURE`.
        case status
        /// Apple documents the code of each error.
        case errorCode
        /// Apple documents the contact field of each error, and only an error about a contact names a field.
        case contactField
        /// The charged sum is the one that the sheet shows.
        case charged

        /// The values that the rule allows, in words.
        public var allowed: String {
            switch self {
            case .object: "an object"
            case .type: "the documented type"
            case .unknownMember: "documented members only"
            case .serversMember: "nothing; the server sets this member"
            case .currency: "three letters of ISO 4217, such as USD"
            case .amount: "a decimal text such as 59.00 with at most the decimals of the currency"
            case .sign: "a total above zero and shipping costs that are not negative"
            case .text: "a text that is not empty and within its limit"
            case .count: "a list that is within its limit"
            case .sum: "line items that sum to the total, or one that is pending"
            case .shippingIdentifiers: "each identifier once"
            case .shippingMethods: "newShippingMethods only in the answer to another address"
            case .status: "STATUS_SUCCESS STATUS_FAILURE"
            case .errorCode: PaymentError.Code.allCases.map(\.rawValue).joined(separator: " ")
            case .contactField: "a documented field, with shippingContactInvalid or billingContactInvalid"
            case .charged: "the total of the sheet"
            }
        }
    }

    /// The name of the field, such as `newLineItems[2].amount`; the name of an unknown field is cut to 40 bytes.
    public let field: String
    /// The broken rule.
    public let rule: Rule

    /// Creates a problem.
    public init(_ rule: Rule, at field: String) {
        self.rule = rule
        self.field = field
    }
}

/// Throws a problem at a field unless its rule is kept.
func require(
    _ isKept: Bool, _ rule: PaymentAnswerProblem.Rule, at field: @autoclosure () -> String
) throws(PaymentAnswerProblem) {
    if !isKept { throw PaymentAnswerProblem(rule, at: field()) }
}

extension PaymentAnswerProblem {
    /// The rule and the field in words, for the log; the name of an unknown field is omitted, because the
    /// handler chose it.
    package var loggable: String {
        rule == .unknownMember ? "the rule \(rule)" : "the rule \(rule) at \(field)"
    }
}

extension PaymentAnswerProblem: CustomStringConvertible {
    /// The field and the allowed values.
    public var description: String { "\(field): allowed \(rule.allowed)" }
}
