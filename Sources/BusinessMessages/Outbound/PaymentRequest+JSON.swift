public import BalloonJSON

extension PaymentRequest {
    /// Finds the problems of `{"payment": {…}}`: at most 100 in the order of the text, errors before warnings.
    public static func problems(in message: JSONValue) -> [MessageProblem] {
        var inspection = Inspection(author: "Balloon")
        inspection.check(message, Checks.paymentMessage)
        return inspection.problems
    }

    /// Reads the request of `{"payment": {…}}`.
    ///
    /// Throws when ``problems(in:)`` finds an error.
    public init(json message: JSONValue) throws(InvalidMessage) {
        let problems = Self.problems(in: message)
        // Without an error the member `payment` and its required members exist.
        guard !problems.hasErrors, let payment = message["payment"],
            let received = payment["receivedMessage"].map(OutboundBubble.init),
            let request = payment["paymentRequest"].flatMap({ PaymentRequest($0, received) })
        else { throw InvalidMessage(problems: problems) }
        self = request
        reply = payment["replyMessage"].map(OutboundBubble.init)
        images = payment["images"]?.elements.compactMap(OutboundImage.init) ?? []
        sessionIdentifier = payment["sessionIdentifier"]?.string
    }

    /// Reads the payment request from a message that was sent to a customer; nil when the message asks for no
    /// payment.
    package init?(sent message: JSONValue) {
        guard let interactiveData = message["interactiveData"],
            let received = interactiveData["receivedMessage"].map(OutboundBubble.init),
            let request = interactiveData["data"]?["payment"]?["paymentRequest"]
        else { return nil }
        self.init(request, received)
        reply = interactiveData["replyMessage"].map(OutboundBubble.init)
        images = interactiveData["data"]?["images"]?.elements.compactMap(OutboundImage.init) ?? []
        sessionIdentifier = interactiveData["sessionIdentifier"]?.string
    }

    /// Reads Apple's `paymentRequest`; nil when a required member is missing.
    private init?(_ request: JSONValue, _ received: OutboundBubble) {
        guard let total = request["total"].flatMap(LineItem.init),
            let currency = request["currencyCode"]?.string, let country = request["countryCode"]?.string
        else { return nil }
        func strings(_ value: JSONValue?) -> [String] { value?.elements.compactMap(\.string) ?? [] }
        self.init(
            received, total: total, lineItems: request["lineItems"]?.elements.compactMap(LineItem.init) ?? [],
            currency: currency, country: country, networks: strings(request["applePay"]?["supportedNetworks"])
        )
        merchantCapabilities = strings(request["applePay"]?["merchantCapabilities"]).compactMap(
            Capability.init)
        requiredBillingContactFields = strings(request["requiredBillingContactFields"]).compactMap(
            ContactField.init)
        requiredShippingContactFields = strings(request["requiredShippingContactFields"]).compactMap(
            ContactField.init)
        shippingMethods = request["shippingMethods"]?.elements.compactMap(ShippingMethod.init) ?? []
        supportedCountries = strings(request["supportedCountries"])
    }
}

extension ApplePayRequest.LineItem {
    /// Reads a line; nil when a member is missing or has another type.
    ///
    /// Apple writes both `final` and `Final`.
    init?(_ value: JSONValue) {
        guard let label = value["label"]?.string, let amount = value["amount"]?.string else { return nil }
        let type = value.first("type")
        let finality = type?.string.flatMap { Finality(rawValue: $0.lowercased()) }
        guard type == nil || finality != nil else { return nil }
        self.init(label, amount: amount, finality)
    }
}

extension ApplePayRequest.ShippingMethod {
    /// Reads a shipping method; nil when a member is missing or has another type.
    init?(_ value: JSONValue) {
        guard let identifier = value["identifier"]?.string, let label = value["label"]?.string,
            let amount = value["amount"]?.string
        else { return nil }
        self.init(identifier, label: label, detail: value["detail"]?.string ?? "", amount: amount)
    }
}
