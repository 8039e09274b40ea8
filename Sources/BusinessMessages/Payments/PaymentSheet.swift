package import BalloonJSON

/// The sums that a customer's payment sheet shows: at first those of the request, then those of each answered
/// update.
///
/// Every value is checked: amounts are exact, and the line items sum to the total unless one of them is
/// pending.
public struct PaymentSheet: Hashable, Sendable {
    /// An amount with its label.
    public typealias LineItem = ApplePayRequest.LineItem
    /// A shipping method.
    public typealias ShippingMethod = ApplePayRequest.ShippingMethod

    /// The maximum number of line items, and of shipping methods.
    public static let maximumItems = 100
    /// The maximum length of a label, an identifier and a detail in bytes.
    public static let maximumTextBytes = 1024

    /// The currency, three letters of ISO 4217.
    public let currencyCode: String
    /// The sum, more than zero.
    public let total: LineItem
    /// The components of the sum; can be empty.
    public let lineItems: [LineItem]
    /// The shipping methods that the customer can choose.
    public let shippingMethods: [ShippingMethod]
    /// The sum in the smallest unit of the currency, such as cents.
    public let totalMinorUnits: Int

    /// Creates the sheet that the request shows at first.
    public init(_ request: PaymentRequest) throws(PaymentAnswerProblem) {
        try self.init(
            total: request.total, lineItems: request.lineItems, shippingMethods: request.shippingMethods,
            currency: request.currencyCode)
    }

    /// Reads the sheet in an event that the server sends to a handler, in the format that ``answer(to:)``
    /// writes.
    package init(_ request: PaymentRequest, showing sheet: JSONValue) throws(PaymentAnswerProblem) {
        try self.init(
            total: sheet["newTotal"].flatMap(LineItem.init) ?? request.total,
            lineItems: sheet["newLineItems"]?.elements.compactMap(LineItem.init) ?? [],
            shippingMethods: request.shippingMethods, currency: request.currencyCode)
    }

    init(
        total: LineItem, lineItems: [LineItem], shippingMethods: [ShippingMethod], currency: String,
        _ names: FieldNames = .request
    ) throws(PaymentAnswerProblem) {
        guard let decimals = ISO.decimals(ofCurrency: currency) else {
            throw PaymentAnswerProblem(.currency, at: "currencyCode")
        }
        let units = try Self.minorUnits(of: total, decimals, at: names.total)
        try require(units > 0, .sign, at: names.total + ".amount")
        try Self.check(lineItems, total: units, decimals, at: names.lineItems)
        try Self.check(shippingMethods, decimals, at: names.shippingMethods)
        currencyCode = currency
        self.total = total
        self.lineItems = lineItems
        self.shippingMethods = shippingMethods
        totalMinorUnits = units
    }

    /// Returns the sheet after an update; a value that is nil in the update stays unchanged.
    public func applying(
        _ update: SheetUpdate, to kind: PaymentCallback.Kind
    ) throws(PaymentAnswerProblem) -> PaymentSheet {
        try update.check(kind)
        return try PaymentSheet(
            total: update.total ?? total, lineItems: update.lineItems ?? lineItems,
            shippingMethods: update.shippingMethods ?? shippingMethods, currency: currencyCode, .update)
    }

    /// The answer to an update as JSON: the total and all line items, and the other members that the update
    /// sets.
    public func answer(to update: SheetUpdate) -> [UInt8] {
        JSONWriter.object([
            "newTotal": total, "newLineItems": lineItems.unlessEmpty,
            "newShippingMethods": update.shippingMethods, "errors": update.errors.unlessEmpty,
        ])
    }

    /// Converts a decimal amount to the smallest unit of the sheet's currency; nil when it is no amount in
    /// this currency.
    public func minorUnits(of amount: String) -> Int? {
        ISO.decimals(ofCurrency: currencyCode).flatMap { Money(amount)?.minorUnits(decimals: $0) }
    }

    /// The numeric code of the currency in ISO 4217, three digits, as in a decrypted token.
    package var currencyNumber: String { ISO.number(ofCurrency: currencyCode) ?? "" }

    /// The names of the sheet's fields in a problem report, which differ between a request and an update.
    struct FieldNames {
        let total: String
        let lineItems: String
        let shippingMethods: String

        static let request = FieldNames(
            total: "total", lineItems: "lineItems", shippingMethods: "shippingMethods")
        static let update = FieldNames(
            total: "newTotal", lineItems: "newLineItems", shippingMethods: "newShippingMethods")
    }
}

extension PaymentSheet {
    private static func check(
        _ items: [LineItem], total: Int, _ decimals: Int, at field: String
    ) throws(PaymentAnswerProblem) {
        try require(items.count <= maximumItems, .count, at: field)
        var sum = 0
        for (index, item) in items.enumerated() {
            let units = try minorUnits(of: item, decimals, at: "\(field)[\(index)]")
            let (next, hasOverflowed) = sum.addingReportingOverflow(units)
            try require(!hasOverflowed, .amount, at: field)
            sum = next
        }
        guard !items.isEmpty, !items.contains(where: { $0.finality == .pending }) else { return }
        try require(sum == total, .sum, at: field)
    }

    private static func check(
        _ methods: [ShippingMethod], _ decimals: Int, at field: String
    ) throws(PaymentAnswerProblem) {
        try require(methods.count <= maximumItems, .count, at: field)
        var identifiers: Set<String> = []
        for (index, method) in methods.enumerated() {
            let field = "\(field)[\(index)]"
            try check(method.identifier, at: field + ".identifier")
            try check(method.label, at: field + ".label")
            try require(method.detail.utf8.count <= maximumTextBytes, .text, at: field + ".detail")
            let units = try minorUnits(of: method.amount, decimals, at: field)
            try require(units >= 0, .sign, at: field + ".amount")
            let isNew = identifiers.insert(method.identifier).inserted
            try require(isNew, .shippingIdentifiers, at: field + ".identifier")
        }
    }

    private static func minorUnits(
        of item: LineItem, _ decimals: Int, at field: String
    ) throws(PaymentAnswerProblem) -> Int {
        try check(item.label, at: field + ".label")
        return try minorUnits(of: item.amount, decimals, at: field)
    }

    private static func minorUnits(
        of amount: String, _ decimals: Int, at field: String
    ) throws(PaymentAnswerProblem) -> Int {
        guard let units = Money(amount)?.minorUnits(decimals: decimals) else {
            throw PaymentAnswerProblem(.amount, at: field + ".amount")
        }
        return units
    }

    private static func check(_ text: String, at field: String) throws(PaymentAnswerProblem) {
        try require((1...maximumTextBytes).contains(text.utf8.count), .text, at: field)
    }
}
