public import BalloonJSON

/// A handler's answer after it presented the customer's payment token to its payment provider.
///
/// ```json
/// {"status": "STATUS_SUCCESS", "charged": "63.99", "reference": "ch_3Nk…"}
/// {"status": "STATUS_FAILURE", "errors": [{"code": "shippingContactInvalid", "contactField": "postalCode"}]}
/// ```
/// The device gets `status` and `errors` only.
public enum PaymentOutcome: Hashable, Sendable {
    /// The payment provider charged the amount `charged` and identifies the charge by `reference`.
    ///
    /// The amount is a decimal text in the currency of the request, and the reference has at most 256 bytes.
    /// When the amount differs from the sheet's total, the payment fails and the server asks for a reversal.
    case success(charged: String, reference: String)
    /// The customer was not charged; the sheet shows the problems, at most 20.
    case failure([PaymentError] = [])

    /// The maximum length of a reference in bytes.
    public static let maximumReferenceBytes = 256

    /// Reads a handler's answer in JSON.
    public init(json answer: JSONValue) throws(PaymentAnswerProblem) {
        try answer.checkNames(["status", "errors", "charged", "reference"])
        switch answer["status"]?.string {
        case "STATUS_SUCCESS":
            guard let charged = answer["charged"]?.string else {
                throw PaymentAnswerProblem(.type, at: "charged")
            }
            guard let reference = answer["reference"]?.string else {
                throw PaymentAnswerProblem(.type, at: "reference")
            }
            try require(PaymentError.list(of: answer).isEmpty, .count, at: "errors")
            self = .success(charged: charged, reference: reference)
        case "STATUS_FAILURE": self = .failure(try PaymentError.list(of: answer))
        default: throw PaymentAnswerProblem(.status, at: "status")
        }
    }

    /// The outcome as JSON, in the format that ``init(json:)`` reads.
    public var json: [UInt8] { write(forDevice: false) }

    /// The answer to the customer's device.
    public var answer: [UInt8] { write(forDevice: true) }

    /// Checks the outcome of a payment with this sheet.
    ///
    /// When a success has a problem, the customer may nevertheless have been charged.
    public func check(for sheet: PaymentSheet) throws(PaymentAnswerProblem) {
        switch self {
        case .success(let charged, let reference):
            guard let units = sheet.minorUnits(of: charged) else {
                throw PaymentAnswerProblem(.amount, at: "charged")
            }
            try require(units == sheet.totalMinorUnits, .charged, at: "charged")
            try require(
                (1...Self.maximumReferenceBytes).contains(reference.utf8.count), .text, at: "reference")
        case .failure(let errors): try PaymentError.check(errors)
        }
    }

    private func write(forDevice: Bool) -> [UInt8] {
        switch self {
        case .success where forDevice: JSONWriter.object(["status": "STATUS_SUCCESS"])
        case .success(let charged, let reference):
            JSONWriter.object(["status": "STATUS_SUCCESS", "charged": charged, "reference": reference])
        case .failure(let errors):
            JSONWriter.object(["status": "STATUS_FAILURE", "errors": errors.unlessEmpty])
        }
    }
}
