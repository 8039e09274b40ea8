internal import BalloonJSON

extension Checks {
    /// The maximum length of a store's name in bytes.
    static let maximumDisplayNameBytes = 64

    static let payment = object(
        "Data.Payment Dictionary",
        [
            .required("endpoints", unlessAddedWhenSent(endpoints)),
            .required("merchantSession", unlessAddedWhenSent(merchantSession)),
            .required("paymentRequest", paymentRequest),
        ],
        then: { payment, inspection in
            checkInitiativeContext(of: payment, &inspection)
            guard let methods = payment["paymentRequest"]?["shippingMethods"],
                let endpoints = payment["endpoints"]?.object, endpoints["shippingMethodUpdateUrl"] == nil
            else { return }
            inspection.report(
                .shippingUpdate, at: methods, found: "no shippingMethodUpdateUrl",
                allowed: "shipping methods only together with endpoints.shippingMethodUpdateUrl")
        })

    private static func checkInitiativeContext(of payment: JSONValue, _ inspection: inout Inspection) {
        guard let context = payment["merchantSession"]?["initiativeContext"], let text = context.string,
            let gateway = payment["endpoints"]?["paymentGatewayUrl"]?.nonEmptyString,
            !text.utf8.elementsEqual(gateway.utf8)
        else { return }
        inspection.report(
            .initiativeContext, at: context, allowed: shortText(Array(gateway.utf8)[...], maximumScalars: 200)
        )
    }

    /// Accepts the placeholder of a part that the server adds when it sends the message; any other value must
    /// pass `check`.
    private static func unlessAddedWhenSent(_ check: @escaping Check) -> Check {
        { value, inspection in
            if !value.equals(SignInRequest.placeholder) { check(value, &inspection) }
        }
    }

    private static let endpoints = object(
        "Payment.ApplePayEndpoints Dictionary",
        [
            .required("paymentGatewayUrl", secureAddress), .optional("fallbackUrl", secureAddress),
            .optional("orderTrackingUrl", secureAddress), .optional("paymentMethodUpdateUrl", secureAddress),
            .optional("shippingContactUpdateUrl", secureAddress),
            .optional("shippingMethodUpdateUrl", secureAddress),
        ])

    private static let merchantSession = object(
        "Payment.MerchantSession Dictionary",
        [
            .required("displayName", all(words, bytes(atMost: maximumDisplayNameBytes, .displayName))),
            .required("epochTimestamp", timestamp), .required("expiresAt", timestamp),
            .required("initiative", oneOf(["messaging"], .initiative)), .required("initiativeContext", text),
            .required("merchantIdentifier", words), .required("merchantSessionIdentifier", words),
            .optional("nonce", text), .optional("signature", text), .optional("signedFields", list(of: text)),
            .optional("domainName", text), .optional("operationalAnalyticsIdentifier", any),
            .optional("retries", any), .optional("pspId", any),
        ],
        then: { session, inspection in
            guard let expiry = session["expiresAt"], let ends = expiry.scalarInt,
                let begins = session["epochTimestamp"]?.scalarInt, ends <= begins
            else { return }
            inspection.report(.sessionExpiry, at: expiry, allowed: "a time after epochTimestamp")
        })

    /// Accepts a time as a string or a number: Apple's table has a string of seconds, but Apple Pay sends a number of
    /// milliseconds.
    private static let timestamp = refuse(.type, allowed: "a whole number, as a number or a text") {
        $0.int == nil && $0.string.flatMap { Int($0) } == nil
    }

    private static let paymentRequest = object(
        "ApplePayPaymentRequest Dictionary",
        // Apple does not document `merchantName`, but its samples have it.
        paymentRequestMembers + [.required("applePay", applePay), .optional("merchantName", text)],
        then: all(unique(in: "shippingMethods", .shippingIdentifiers), checkDecimals))

    /// The members of `paymentRequest` that ``ApplePayRequest`` and ``PaymentRequest`` have in common.
    static let paymentRequestMembers: [Member] = [
        .required("countryCode", country), .required("currencyCode", currency),
        .optional("lineItems", list(of: lineItem, minimum: 1)),
        .optional("requiredBillingContactFields", list(of: contactField)),
        .optional("requiredShippingContactFields", list(of: contactField)),
        .optional("shippingMethods", list(of: shippingMethod)),
        .optional("supportedCountries", list(of: country)), .required("total", all(lineItem, total)),
    ]

    private static let country = text(.countryCode, allowed: "two letters of ISO 3166, such as US") {
        $0.utf8.count == 2 && ISO.countries.contains($0)
    }

    private static let currency = text(.currencyCode, allowed: "three letters of ISO 4217, such as USD") {
        $0.utf8.count == 3 && ISO.decimals(ofCurrency: $0) != nil
    }

    private static let contactField = oneOf(
        ApplePayRequest.ContactField.allCases.map(\.rawValue), .contactField)

    private static let applePay = object(
        "ApplePayItem Dictionary", applePayMembers + [.required("merchantIdentifier", words)])

    /// The members of `applePay` that ``ApplePayRequest`` and ``PaymentRequest`` have in common.
    static let applePayMembers: [Member] = [
        .required("merchantCapabilities", all(list(of: merchantCapability, minimum: 1), threeDSecure)),
        .required("supportedNetworks", list(of: network, minimum: 1)),
    ]

    private static let merchantCapability = oneOf(
        ApplePayRequest.Capability.allCases.map(\.rawValue), .merchantCapability)

    private static let threeDSecure = refuse(.threeDSecure, allowed: "a list with supports3DS") { value in
        value.kind == .array && value.count > 0 && !value.elements.contains { $0.equals("supports3DS") }
    }

    /// The six card networks that Apple documents, and two from Apple's own tutorial.
    private static let networks = [
        "amex", "chinaUnionPay", "discover", "interac", "jcb", "masterCard", "privateLabel", "visa",
    ]

    private static let network = all(
        words,
        refuse(.paymentNetwork, allowed: networks.joined(separator: " ")) { value in
            value.kind == .string && !value.isEmptyText && !networks.contains(where: value.equals)
        })
}
