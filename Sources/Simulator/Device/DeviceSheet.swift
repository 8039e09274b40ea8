import BalloonTransport
package import BusinessMessages

/// The payment sheet of a device: the sums, the customer's selections, and the answers so far.
package struct DeviceSheet: Sendable {
    /// The receiver's country.
    var country = "US"
    /// The value of `paymentData` after the customer authorised the payment.
    var token: [UInt8]?
    private var sums: PaymentSheet
    private var shippingMethod: PaymentSheet.ShippingMethod?
    private var errors: [String] = []
    private var httpStatuses: [Int] = []
    /// The name of the card.
    var card: String

    init(_ sums: PaymentSheet, card: String) {
        self.sums = sums
        self.card = card
        // A sheet preselects the first method.
        shippingMethod = sums.shippingMethods.first
    }

    /// Writes the sums, the selections and the errors that the customer sees.
    ///
    /// `{"total":{"label","amount"},"lineItems":[…],"shippingMethods":[{"identifier","label","detail","amount"}],
    /// "shippingMethod":"post","country":"US","errors":["addressUnserviceable"]}`
    package func write(to writer: inout JSONWriter) {
        func json(_ item: PaymentSheet.LineItem) -> JSONObject {
            ["label": item.label, "amount": item.amount]
        }
        writer.object([
            "total": json(sums.total), "lineItems": sums.lineItems.map(json),
            "shippingMethods": sums.shippingMethods, "shippingMethod": shippingMethod?.identifier,
            "country": country, "errors": errors,
        ])
    }

    /// Removes the errors of earlier answers, before the customer selects something else.
    package mutating func clearErrors() { errors = [] }

    /// Selects a shipping method; returns false when the sheet does not offer it.
    mutating func select(_ identifier: String) -> Bool {
        guard let method = sums.shippingMethods.first(where: { $0.identifier == identifier }) else {
            errors.append("the sheet offers no such shipping method")
            return false
        }
        shippingMethod = method
        return true
    }

    /// Selects another shipping method without asking the business, so that the total does not fit the
    /// method.
    mutating func selectAnother() {
        shippingMethod =
            sums.shippingMethods.first { $0.identifier != shippingMethod?.identifier } ?? shippingMethod
    }

    /// Applies an answer of the business to the sheet; returns false when the customer cannot continue.
    mutating func take(_ answer: TransportResponse, _ kind: PaymentCallback.Kind) -> Bool {
        httpStatuses.append(answer.status)
        guard answer.status == 200 else { return false }
        guard kind != .orderTracking else { return true }
        guard let root = (try? JSONDocument(answer.body))?.root else {
            errors.append("an answer is no JSON")
            return false
        }
        guard kind != .paymentGateway else {
            errors += root["errors"]?.elements.compactMap { $0["code"]?.string } ?? []
            return true
        }
        do throws(PaymentAnswerProblem) {
            let update = try SheetUpdate(json: root)
            sums = try sums.applying(update, to: kind)
            if update.shippingMethods != nil { shippingMethod = sums.shippingMethods.first }
            errors += update.errors.map(\.code.rawValue)
            return update.errors.isEmpty
        } catch {
            errors.append(error.field)
            return false
        }
    }

    /// Records the answer with the fallback page, which must be a page (200) or a redirect to one (302).
    mutating func takePage(_ answer: TransportResponse) {
        httpStatuses.append(answer.status)
        if answer.status != 200 && answer.status != 302 { errors.append("no fallback page") }
    }

    /// The JSON that Apple encrypts into the token; its card number belongs to no real card.
    var plainToken: [UInt8] {
        JSONWriter.object([
            "applicationPrimaryAccountNumber": "4111111111111111", "applicationExpirationDate": "301231",
            "currencyCode": sums.currencyNumber, "transactionAmount": sums.totalMinorUnits,
            "deviceManufacturerIdentifier": "050110030273", "paymentDataType": "3DSecure",
        ])
    }

    func outcome(_ state: ApplePay.State, status: String? = nil) -> DevicePayment.Outcome {
        DevicePayment.Outcome(
            state: state, status: status, total: sums.total.amount, errors: errors, httpStatuses: httpStatuses
        )
    }

    /// The JSON body of a request to an endpoint of the payment.
    func body(_ kind: PaymentCallback.Kind, _ identifier: String) -> [UInt8] {
        JSONWriter.object(reservingCapacity: 4096) { writer in
            writer.fields(["requestIdentifier": identifier, "version": "1.0"])
            writer.object("payment") { write(kind, to: &$0) }
        }
    }

    private func write(_ kind: PaymentCallback.Kind, to writer: inout JSONWriter) {
        switch kind {
        case .paymentMethodUpdate: writer.object("paymentMethod") { $0.field("type", "Credit") }
        case .shippingContactUpdate: writeContact("shippingContact", isRedacted: true, to: &writer)
        case .shippingMethodUpdate: writeShippingMethod(to: &writer)
        case .paymentGateway, .orderTracking:
            writeContact("billingContact", to: &writer)
            writeContact("shippingContact", to: &writer)
            writeShippingMethod(to: &writer)
            if kind == .paymentGateway { return writeToken(to: &writer) }
            writer.objects("summaryItems", sums.lineItems + [sums.total]) { item, writer in
                writer.fields(["label": item.label, "amount": item.amount, "type": "Final"])
            }
            writer.array("errors") { _ in }
        }
    }

    private func writeToken(to writer: inout JSONWriter) {
        guard let token else { return }
        writer.field(
            "paymentToken",
            JSONObject([
                "paymentData": JSONText(token),
                "paymentMethod": JSONObject(["displayName": card, "network": "Visa", "type": "Credit"]),
                "transactionIdentifier": "simulated",
            ]))
    }

    private func writeShippingMethod(to writer: inout JSONWriter) {
        guard let shippingMethod else { return }
        writer.field(
            "shippingMethod",
            JSONObject([
                "amount": shippingMethod.amount, "detail": shippingMethod.detail,
                "identifier": shippingMethod.identifier, "label": shippingMethod.label, "type": "Final",
            ]))
    }

    /// Writes a contact; if `isRedacted`, without name, street, mail address and telephone number.
    ///
    /// A device redacts contacts until the customer pays.
    private func writeContact(_ name: String, isRedacted: Bool = false, to writer: inout JSONWriter) {
        writer.object(name) { writer in
            writer.fields([
                "locality": "Cupertino", "postalCode": "95014", "administrativeArea": "CA", "subLocality": "",
                "countryCode": country.lowercased(),
            ])
            guard !isRedacted else { return }
            writer.fields(["givenName": "Johnny", "familyName": "Appleseed"])
            writer.array("addressLines") { $0.string("1 Infinite Loop") }
            writer.fields(["emailAddress": "user@example.com", "phoneNumber": "55555555555"])
        }
    }
}
