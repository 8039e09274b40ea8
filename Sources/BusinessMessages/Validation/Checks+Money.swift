internal import BalloonJSON

extension Checks {
    private static let money = text(.money, allowed: "a decimal number such as 59.00") {
        Money($0) != nil
    }

    static let lineItem = object(
        "ApplePay.lineItems Dictionary",
        [
            .required("amount", money), .required("label", words),
            // Apple writes both `final` and `Final`.
            .optional(
                "type",
                text(.lineItemType, allowed: "final or pending") {
                    ["final", "pending", "Final", "Pending"].contains($0)
                }),
        ])

    static let total: Check = { item, inspection in
        guard let amount = item["amount"], let money = amount.string.flatMap(Money.init), !money.isPositive
        else { return }
        inspection.report(.total, at: amount, allowed: "more than zero")
    }

    static let shippingMethod = object(
        "PaymentRequest.shippingMethodItem Dictionary",
        [
            .required("amount", all(money, notNegative)), .required("detail", words),
            .required("identifier", words), .required("label", words), .optional("type", text),
        ])

    private static let notNegative = refuse(.shippingAmount, allowed: "zero or more") {
        $0.string.flatMap(Money.init)?.isNegative == true
    }

    /// Checks that no amount of a payment request has more decimals than its currency.
    static func checkDecimals(in request: JSONValue, _ inspection: inout Inspection) {
        guard let code = request["currencyCode"], code.isText(atMostBytes: 3), let currency = code.string,
            let decimals = ISO.decimals(ofCurrency: currency)
        else { return }
        var items = (request["lineItems"]?.objects ?? []) + (request["shippingMethods"]?.objects ?? [])
        if let total = request["total"]?.object { items.append(total) }
        for item in items {
            guard let amount = item["amount"], let money = amount.string.flatMap(Money.init),
                money.decimals > decimals
            else { continue }
            inspection.report(.moneyDecimals, at: amount, allowed: "\(decimals) decimals in \(currency)")
        }
    }
}
