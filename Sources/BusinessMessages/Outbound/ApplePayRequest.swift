package import BalloonJSON

/// A payment that the customer authorises with Apple Pay.
///
/// ```json
/// "data": {"payment": {"endpoints": {"paymentGatewayUrl": "https://…"}, "merchantSession": {…},
///          "paymentRequest": {"applePay": {…}, "countryCode": "DE", "currencyCode": "EUR",
///                             "lineItems": […], "total": {…}}}}
/// ```
/// Apple MSP API, "Apple Pay Message". Every device can show it. Amounts are decimal strings such as `59.00`.
public struct ApplePayRequest: Hashable, Sendable {
    /// An amount with its label.
    public struct LineItem: Hashable, Sendable, JSONWritable {
        /// Whether an amount can still change.
        public enum Finality: String, Sendable {
            /// The amount is final.
            case final
            /// The amount is not known yet.
            case pending
        }

        /// The label; for the total it is the name of the business.
        public let label: String
        /// The amount in the request's currency; a discount is negative.
        public let amount: String
        /// Whether the amount can still change.
        public let finality: Finality?

        /// Creates a line.
        public init(_ label: String, amount: String, _ finality: Finality? = .final) {
            self.label = label
            self.amount = amount
            self.finality = finality
        }

        package func write(to writer: inout JSONWriter) {
            writer.object(["label": label, "amount": amount, "type": finality?.rawValue])
        }
    }

    /// A shipping method.
    public struct ShippingMethod: Hashable, Sendable, JSONWritable {
        /// The identifier that Apple Pay reports when the customer chooses the method.
        public let identifier: String
        /// The method's name.
        public let label: String
        /// The text that tells when the goods arrive.
        public let detail: String
        /// The cost; not negative.
        public let amount: String

        /// Creates a shipping method.
        public init(_ identifier: String, label: String, detail: String, amount: String) {
            self.identifier = identifier
            self.label = label
            self.detail = detail
            self.amount = amount
        }

        package func write(to writer: inout JSONWriter) {
            writer.object(["identifier": identifier, "label": label, "detail": detail, "amount": amount])
        }
    }

    /// A contact field that the customer must fill in.
    public enum ContactField: String, CaseIterable, Sendable {
        /// The mail address.
        case email
        /// The whole name.
        case name
        /// The telephone number.
        case phone
        /// The pronunciation of the name.
        case phoneticName
        /// The postal address; Apple Pay on the web calls it `postalAddress`.
        case post
    }

    /// A capability of the merchant's bank.
    public enum Capability: String, CaseIterable, Sendable {
        /// 3-D Secure; required.
        case supports3DS
        /// Credit cards.
        case supportsCredit
        /// Debit cards.
        case supportsDebit
        /// China UnionPay.
        case supportsEMV
    }

    /// The URLs that Apple Pay calls; each listed one must answer, or the customer sees an error.
    public struct Endpoints: Hashable, Sendable, JSONWritable {
        /// The URL that receives the payment token; the session's `initiativeContext` must be the same
        /// string.
        public let paymentGateway: String
        /// The page that a browser opens when the device cannot pay.
        public let fallback: String?
        /// The URL that Apple Pay calls after the order.
        public let orderTracking: String?
        /// The URL that Apple Pay calls when the customer selects another card.
        public let paymentMethodUpdate: String?
        /// The URL that Apple Pay calls when the customer selects another address.
        public let shippingContactUpdate: String?
        /// The URL that Apple Pay calls when the customer selects another shipping method.
        public let shippingMethodUpdate: String?

        /// Creates endpoints.
        public init(
            paymentGateway: String, fallback: String? = nil, orderTracking: String? = nil,
            paymentMethodUpdate: String? = nil, shippingContactUpdate: String? = nil,
            shippingMethodUpdate: String? = nil
        ) {
            self.paymentGateway = paymentGateway
            self.fallback = fallback
            self.orderTracking = orderTracking
            self.paymentMethodUpdate = paymentMethodUpdate
            self.shippingContactUpdate = shippingContactUpdate
            self.shippingMethodUpdate = shippingMethodUpdate
        }

        package func write(to writer: inout JSONWriter) {
            writer.object([
                "paymentGatewayUrl": paymentGateway, "fallbackUrl": fallback,
                "orderTrackingUrl": orderTracking, "paymentMethodUpdateUrl": paymentMethodUpdate,
                "shippingContactUpdateUrl": shippingContactUpdate,
                "shippingMethodUpdateUrl": shippingMethodUpdate,
            ])
        }
    }

    /// The merchant: `merchant.` and a reversed domain name.
    public var merchantIdentifier: String
    /// The capabilities of the merchant's bank.
    public var merchantCapabilities: [Capability] = [.supports3DS]
    /// The accepted card networks: `amex discover jcb masterCard privateLabel visa`.
    public var supportedNetworks: [String]
    /// The merchant's country, two letters of ISO 3166.
    public var countryCode: String
    /// The currency, three letters of ISO 4217.
    public var currencyCode: String
    /// The sum, more than zero, with the name of the business.
    public var total: LineItem
    /// The components of the sum; an empty list is not written, since Apple would refuse it.
    public var lineItems: [LineItem] = []
    /// The required contact fields of the payer.
    public var requiredBillingContactFields: [ContactField] = []
    /// The required contact fields of the receiver.
    public var requiredShippingContactFields: [ContactField] = []
    /// The shipping methods; the first is preselected.
    public var shippingMethods: [ShippingMethod] = []
    /// The countries of accepted cards, each two letters of ISO 3166; empty means all.
    public var supportedCountries: [String] = []
    /// The URLs that Apple Pay calls.
    public var endpoints: Endpoints
    /// Apple Pay's signed proof that the request comes from the merchant; get a new one for each request.
    public var merchantSession: MerchantSession
    /// The bubbles, images and identifiers, which all interactive messages have.
    public var presentation: Presentation

    /// Creates a payment request whose only merchant capability is 3-D Secure; optional values can be set
    /// afterwards.
    public init(
        merchant: String, networks: [String], country: String, currency: String, total: LineItem,
        endpoints: Endpoints, session: MerchantSession, presentation: Presentation
    ) {
        merchantIdentifier = merchant
        supportedNetworks = networks
        countryCode = country
        currencyCode = currency
        self.total = total
        self.endpoints = endpoints
        merchantSession = session
        self.presentation = presentation
    }

    func write(to writer: inout JSONWriter, id: MessageID) {
        let request = PaymentRequest(self).paymentRequest(merchant: merchantIdentifier)
        presentation.write(
            to: &writer, id: id,
            [
                "payment": JSONObject([
                    "endpoints": endpoints, "merchantSession": JSONText(merchantSession.json),
                    "paymentRequest": request,
                ])
            ])
    }
}
