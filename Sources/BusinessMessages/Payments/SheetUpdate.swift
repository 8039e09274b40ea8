public import BalloonJSON

/// A handler's answer when the customer changes the card, the address or the shipping method.
///
/// ```json
/// {"newTotal": {"label": "Sam's Fish", "amount": "88.99", "type": "final"},
///  "newLineItems": [{"label": "Halibut", "amount": "59.00"}, {"label": "FedEx", "amount": "29.99"}],
///  "newShippingMethods": [{"identifier": "a", "label": "FedEx", "detail": "1-3 days", "amount": "29.99"}],
///  "errors": [{"code": "addressUnserviceable", "message": "We do not ship to this country."}]}
/// ```
/// A value that is nil leaves the sheet's value unchanged; `{}` changes nothing. The server always sends the
/// total and all line items to the device.
public struct SheetUpdate: Hashable, Sendable {
    /// The new sum.
    public var total: ApplePayRequest.LineItem?
    /// The new components of the sum; not empty.
    public var lineItems: [ApplePayRequest.LineItem]?
    /// The new shipping methods; allowed only in the answer to a changed address.
    public var shippingMethods: [ApplePayRequest.ShippingMethod]?
    /// The problems that the sheet shows; at most 20.
    public var errors: [PaymentError]

    /// Creates an update.
    public init(
        total: ApplePayRequest.LineItem? = nil, lineItems: [ApplePayRequest.LineItem]? = nil,
        shippingMethods: [ApplePayRequest.ShippingMethod]? = nil, errors: [PaymentError] = []
    ) {
        self.total = total
        self.lineItems = lineItems
        self.shippingMethods = shippingMethods
        self.errors = errors
    }

    /// An update that changes nothing.
    public static let unchanged = SheetUpdate()

    /// Reads a handler's answer in JSON.
    public init(json answer: JSONValue) throws(PaymentAnswerProblem) {
        try answer.checkNames(["newTotal", "newLineItems", "newShippingMethods", "errors"])
        func list<Value>(
            _ name: String, _ read: (JSONValue) -> Value?
        ) throws(PaymentAnswerProblem) -> [Value]? {
            guard let value = answer.first(name) else { return nil }
            try require(value.kind == .array, .type, at: name)
            try require(value.count <= PaymentSheet.maximumItems, .count, at: name)
            var values: [Value] = []
            for (index, element) in value.elements.enumerated() {
                guard let value = read(element) else {
                    throw PaymentAnswerProblem(.type, at: "\(name)[\(index)]")
                }
                values.append(value)
            }
            return values
        }
        var total: ApplePayRequest.LineItem?
        if let value = answer.first("newTotal") {
            total = ApplePayRequest.LineItem(value)
            if total == nil { throw PaymentAnswerProblem(.type, at: "newTotal") }
        }
        self.init(
            total: total, lineItems: try list("newLineItems") { ApplePayRequest.LineItem($0) },
            shippingMethods: try list("newShippingMethods") { ApplePayRequest.ShippingMethod($0) },
            errors: try PaymentError.list(of: answer))
    }

    /// The update as JSON, in the format that ``init(json:)`` reads.
    public var json: [UInt8] {
        JSONWriter.object([
            "newTotal": total, "newLineItems": lineItems, "newShippingMethods": shippingMethods,
            "errors": errors.unlessEmpty,
        ])
    }

    /// Checks the parts that do not depend on the sheet.
    func check(_ kind: PaymentCallback.Kind) throws(PaymentAnswerProblem) {
        try require(lineItems?.isEmpty != true, .count, at: "newLineItems")
        try require(
            shippingMethods == nil || kind == .shippingContactUpdate, .shippingMethods,
            at: "newShippingMethods")
        try PaymentError.check(errors)
    }
}

extension JSONValue {
    /// Checks that an answer is an object with these members only.
    func checkNames(_ names: Set<String>) throws(PaymentAnswerProblem) {
        try require(kind == .object, .object, at: "the answer")
        var all = members
        while let (bytes, _) = all.nextWithBytes() {
            // A long name is never hashed; see `textBytes`.
            let name = String(decoding: bytes.prefix(64), as: UTF8.self)
            if bytes.count <= 64, names.contains(name) { continue }
            let isServers = name == "endpoints" || name == "merchantSession"
            throw PaymentAnswerProblem(isServers ? .serversMember : .unknownMember, at: name.cut(toBytes: 40))
        }
    }
}
