internal import BalloonJSON

/// A request for a payment, without the parts that the server adds when it sends the message.
///
/// ```json
/// {"payment": {"paymentRequest": {"applePay": {"merchantCapabilities": ["supports3DS"], "supportedNetworks": ["visa"]},
///                                 "countryCode": "DE", "currencyCode": "EUR",
///                                 "lineItems": [{"label": "Repair", "amount": "59.00", "type": "final"}],
///                                 "total": {"label": "Bicycle Shop", "amount": "59.00", "type": "final"}},
///              "receivedMessage": {"title": "Repair", "subtitle": "59 EUR"}}}
/// ```
/// It is an ``ApplePayRequest`` without merchant, session and endpoints, which the server adds together with
/// the `requestIdentifier`. The bubble is always large. Amounts have at most the decimals of the currency.
/// The line items sum to the total, unless one of them is pending.
public struct PaymentRequest: Hashable, Sendable {
    /// An amount with its label.
    public typealias LineItem = ApplePayRequest.LineItem
    /// A shipping method.
    public typealias ShippingMethod = ApplePayRequest.ShippingMethod
    /// A contact field that the customer must fill in.
    public typealias ContactField = ApplePayRequest.ContactField
    /// A capability of the merchant's bank.
    public typealias Capability = ApplePayRequest.Capability

    /// The sum, more than zero, with the name of the business.
    public var total: LineItem
    /// The components of the sum; at most 100.
    public var lineItems: [LineItem]
    /// The currency, three letters of ISO 4217.
    public var currencyCode: String
    /// The merchant's country, two letters of ISO 3166.
    public var countryCode: String
    /// The accepted card networks: `amex discover jcb masterCard privateLabel visa`.
    public var supportedNetworks: [String]
    /// The capabilities of the merchant's bank.
    public var merchantCapabilities: [Capability] = [.supports3DS]
    /// The required contact fields of the payer.
    public var requiredBillingContactFields: [ContactField] = []
    /// The required contact fields of the receiver.
    public var requiredShippingContactFields: [ContactField] = []
    /// The shipping methods, at most 100; the first is preselected.
    public var shippingMethods: [ShippingMethod] = []
    /// The countries of accepted cards, each two letters of ISO 3166; empty means all.
    public var supportedCountries: [String] = []
    /// The bubble before the answer; it is always shown in the large style.
    public var received: OutboundBubble
    /// The bubble after the answer; nil means that the device creates the bubble.
    public var reply: OutboundBubble?
    /// The images that the bubbles refer to.
    public var images: [OutboundImage] = []
    /// The identifier of the session, a UUID that all answers repeat; nil means that Apple creates the
    /// identifier.
    public var sessionIdentifier: String?

    /// Creates a request with 3-D Secure only; optional values can be set afterwards.
    public init(
        _ received: OutboundBubble, total: LineItem, lineItems: [LineItem] = [], currency: String,
        country: String, networks: [String]
    ) {
        self.received = received
        self.total = total
        self.lineItems = lineItems
        currencyCode = currency
        countryCode = country
        supportedNetworks = networks
    }

    /// Copies the values that an ``ApplePayRequest`` and this type have in common.
    init(_ request: ApplePayRequest) {
        self.init(
            request.presentation.received, total: request.total, lineItems: request.lineItems,
            currency: request.currencyCode, country: request.countryCode, networks: request.supportedNetworks)
        merchantCapabilities = request.merchantCapabilities
        requiredBillingContactFields = request.requiredBillingContactFields
        requiredShippingContactFields = request.requiredShippingContactFields
        shippingMethods = request.shippingMethods
        supportedCountries = request.supportedCountries
    }

    /// The value of the member `payment` of ``json``.
    var object: JSONObject {
        [
            "paymentRequest": paymentRequest(merchant: nil), "receivedMessage": received,
            "replyMessage": reply, "images": images.unlessEmpty, "sessionIdentifier": sessionIdentifier,
        ]
    }

    /// Writes Apple's message, with placeholders for the parts that the server adds when it sends the
    /// message.
    func writeMessage(to writer: inout JSONWriter, id: MessageID) {
        var bubble = received
        bubble.style = .large
        let presentation = Presentation(
            bubble, reply: reply, images: images, sessionIdentifier: sessionIdentifier)
        let placeholder = SignInRequest.placeholder
        presentation.write(
            to: &writer, id: id,
            [
                "payment": JSONObject([
                    "endpoints": placeholder, "merchantSession": placeholder,
                    "paymentRequest": paymentRequest(merchant: placeholder),
                ])
            ])
    }

    /// Apple's `paymentRequest`.
    func paymentRequest(merchant: String?) -> JSONObject {
        [
            "applePay": JSONObject([
                "merchantIdentifier": merchant, "merchantCapabilities": merchantCapabilities.map(\.rawValue),
                "supportedNetworks": supportedNetworks,
            ]), "countryCode": countryCode, "currencyCode": currencyCode, "lineItems": lineItems.unlessEmpty,
            "requiredBillingContactFields": requiredBillingContactFields.map(\.rawValue).unlessEmpty,
            "requiredShippingContactFields": requiredShippingContactFields.map(\.rawValue).unlessEmpty,
            "shippingMethods": shippingMethods.unlessEmpty,
            "supportedCountries": supportedCountries.unlessEmpty, "total": total,
        ]
    }

    /// The request as `{"payment": {…}}`, in the format that ``init(json:)`` reads.
    public var json: [UInt8] { JSONWriter.object(["payment": object]) }
}
