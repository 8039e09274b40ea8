internal import BalloonJSON

extension Checks {
    /// Checks `{"payment": {…}}`, which the server turns into an Apple Pay message.
    static let paymentMessage = object(
        "PaymentRequest", [.required("payment", requestedPayment)] + completedMessageMembers)

    private static let requestedPayment = object(
        "PaymentRequest",
        [.required("paymentRequest", requestedSum)] + completedRequestMembers
            + ["requestIdentifier", "merchantSession", "endpoints"].map {
                .optional($0, serversMember(.paymentMember))
            },
        then: { request, inspection in
            if let style = request["receivedMessage"]?["style"], !style.equals("large") {
                inspection.report(.paymentStyle, at: style, allowed: "large")
            }
            checkBubblesAndImages(request, &inspection)
        })

    private static let requestedSum = object(
        "PaymentRequest",
        paymentRequestMembers + [
            .required(
                "applePay",
                object(
                    "PaymentRequest",
                    applePayMembers + [.optional("merchantIdentifier", serversMember(.paymentMember))]))
        ], then: all(unique(in: "shippingMethods", .shippingIdentifiers), checkSum))

    /// Checks that the request makes a valid ``PaymentSheet``, unless other checks have already found errors.
    private static func checkSum(of request: JSONValue, _ inspection: inout Inspection) {
        guard !inspection.hasErrors, let currency = request["currencyCode"]?.string,
            let total = request["total"].flatMap(PaymentRequest.LineItem.init)
        else { return }
        do throws(PaymentAnswerProblem) {
            _ = try PaymentSheet(
                total: total,
                lineItems: request["lineItems"]?.elements.compactMap(PaymentRequest.LineItem.init) ?? [],
                shippingMethods: request["shippingMethods"]?.elements.compactMap(
                    PaymentRequest.ShippingMethod.init) ?? [], currency: currency)
        } catch {
            inspection.report(.paymentSum, at: request, found: error.field, allowed: error.rule.allowed)
        }
    }
}
