public import BalloonJSON

/// A request of the customer's device to one of the payment's endpoints.
///
/// ```json
/// {"requestIdentifier": "8EF7…", "version": "1.0", "payment": {"shippingMethod": {"identifier": "in_store_pickup", …}}}
/// ```
/// Apple MSP API, "Apple Pay Message". The types of cards and line items are read in upper or lower case.
public struct PaymentCallback: Sendable {
    /// The endpoint; the raw value is the last component of its path.
    public enum Kind: String, CaseIterable, Sendable {
        /// The customer authorised the payment.
        case paymentGateway
        /// The customer selected another card.
        case paymentMethodUpdate
        /// The customer selected another address.
        case shippingContactUpdate
        /// The customer selected another shipping method.
        case shippingMethodUpdate
        /// The device reports the order after the payment.
        case orderTracking
    }

    /// The endpoint.
    public let kind: Kind
    /// The identifier of the request; the server treats it as a secret.
    public let requestIdentifier: String
    /// The card; always present in a ``Kind/paymentMethodUpdate``.
    public let paymentMethod: PaymentMethod?
    /// The selected shipping method; always present in a ``Kind/shippingMethodUpdate``.
    public let shippingMethod: PaymentSheet.ShippingMethod?
    /// The contact of the receiver; always present in a ``Kind/shippingContactUpdate``, but without name and
    /// street.
    public let shippingContact: PaymentContact?
    /// The contact of the payer.
    public let billingContact: PaymentContact?
    /// The payment token; always present at the ``Kind/paymentGateway``.
    public let token: PaymentToken?
    /// The final sums of an ``Kind/orderTracking``.
    public let summaryItems: [PaymentSheet.LineItem]
    /// The object `payment` of the request.
    public let payment: JSONValue

    /// Reads a request to an endpoint.
    public init(_ kind: Kind, _ body: JSONValue) throws(PaymentCallbackProblem) {
        guard body.kind == .object else { throw .noObject }
        if let version = body.first("version"), version.scalarDouble != 1 { throw .unknownVersion }
        guard let identifier = body["requestIdentifier"]?.nonEmptyString, identifier.utf8.count <= 256 else {
            throw .missing("requestIdentifier")
        }
        guard let payment = body["payment"]?.object else { throw .missing("payment") }
        self.kind = kind
        requestIdentifier = identifier
        self.payment = payment
        token = payment["paymentToken"].flatMap(PaymentToken.init)
        paymentMethod = payment["paymentMethod"]?.object.map(PaymentMethod.init) ?? token?.method
        shippingMethod = payment["shippingMethod"]?.object.flatMap(PaymentSheet.ShippingMethod.init(chosen:))
        shippingContact = payment["shippingContact"]?.object.map(PaymentContact.init)
        billingContact = payment["billingContact"]?.object.map(PaymentContact.init)
        summaryItems = (payment["summaryItems"]?.objects ?? []).prefix(PaymentSheet.maximumItems)
            .compactMap(PaymentSheet.LineItem.init)
        switch kind {
        case .paymentGateway where token == nil: throw .missing("payment.paymentToken")
        case .paymentMethodUpdate where paymentMethod == nil: throw .missing("payment.paymentMethod")
        case .shippingMethodUpdate where shippingMethod == nil: throw .missing("payment.shippingMethod")
        case .shippingContactUpdate where shippingContact == nil: throw .missing("payment.shippingContact")
        default: break
        }
    }
}

/// The reason why a request to a payment's endpoint cannot be read; the HTTP status for it is 400.
public enum PaymentCallbackProblem: Error, Hashable, Sendable {
    /// The body is no JSON object.
    case noObject
    /// The version is not 1.
    case unknownVersion
    /// The member with this name is missing or has another type.
    case missing(String)
}

extension ApplePayRequest.ShippingMethod {
    /// Reads the shipping method that the customer chose; a device may omit every member except the
    /// identifier.
    fileprivate init?(chosen value: JSONValue) {
        guard let identifier = value["identifier"]?.nonEmptyString else { return nil }
        self.init(
            identifier, label: value["label"]?.string ?? "", detail: value["detail"]?.string ?? "",
            amount: value["amount"]?.scalarString ?? "")
    }
}
