import BalloonJSON

extension PaymentSheet {
    /// The sheet as a JSON object with the names of Apple's `paymentRequest`, as ``init(json:)`` reads it.
    package var json: [UInt8] {
        JSONWriter.object([
            "currencyCode": currencyCode, "total": total, "lineItems": lineItems,
            "shippingMethods": shippingMethods,
        ])
    }

    /// Reads a sheet that was checked before; nil when it is damaged.
    package init?(json: [UInt8]) {
        guard let root = (try? JSONDocument(json))?.root, let currency = root["currencyCode"]?.string,
            let total = root["total"].flatMap({ LineItem($0) }), let items = root["lineItems"],
            let methods = root["shippingMethods"],
            let sheet = try? PaymentSheet(
                total: total, lineItems: items.elements.compactMap { LineItem($0) },
                shippingMethods: methods.elements.compactMap { ShippingMethod($0) }, currency: currency),
            sheet.lineItems.count == items.count, sheet.shippingMethods.count == methods.count
        else { return nil }
        self = sheet
    }
}
