import BalloonJSON
import BusinessMessages
import Testing

struct PaymentCallbackTests {
    private static func body(
        _ payment: String, version: String = #""1.0""#, identifier: String = #""8EF748B5""#
    ) -> String {
        #"{"requestIdentifier":\#(identifier),"version":\#(version),"payment":\#(payment)}"#
    }

    private static let token =
        #""paymentToken":{"transactionIdentifier":"5394","paymentMethod":{"type":"Credit","network":"Visa","displayName":"Visa 1234"},"paymentData":{"version":"EC_v1","data":"c2VjcmV0","signature":"MIAG","header":{"transactionId":"d3"}}}"#
    private static let method =
        #""shippingMethod":{"amount":"29.99","identifier":"air","label":"Air","type":"Final"}"#

    @Test func `a call of the payment gateway is read with token, contacts and shipping method`() throws {
        let payment =
            #"{\#(Self.token),\#(Self.method),"billingContact":{"familyName":"Appleseed","givenName":"Johnny","addressLines":["1 Infinite Loop"],"countryCode":"us","subLocality":""},"shippingContact":{"emailAddress":"user@example.com"}}"#
        let callback = try PaymentCallback(.paymentGateway, try json(Self.body(payment)).root)
        #expect(callback.requestIdentifier == "8EF748B5")
        #expect(callback.token?.encryptedData == Array("secret".utf8))
        #expect(callback.token?.transactionIdentifier == "5394")
        #expect(callback.paymentMethod?.type == "credit")
        #expect(callback.paymentMethod?.displayName == "Visa 1234")
        #expect(callback.shippingMethod?.identifier == "air")
        #expect(callback.billingContact?.familyName == "Appleseed")
        #expect(callback.billingContact?.addressLines == ["1 Infinite Loop"])
        #expect(callback.billingContact?.countryCode == "US")
        #expect(callback.billingContact?.subLocality == nil)
        #expect(callback.shippingContact?.emailAddress == "user@example.com")
        let shown = "\(callback.token as Any) \(callback.billingContact as Any)"
        #expect(!shown.contains("c2VjcmV0") && !shown.contains("Appleseed"))
    }

    @Test(arguments: [
        (PaymentCallback.Kind.paymentMethodUpdate, #"{"paymentMethod":{"type":"Credit"}}"#),
        (.shippingMethodUpdate, "{\(method)}"), (.shippingContactUpdate, #"{"shippingContact":{}}"#),
        (.paymentGateway, "{\(token)}"), (.orderTracking, "{}"),
    ])
    func `each callback needs its own member, and the version is 1 in any spelling`(
        kind: PaymentCallback.Kind, payment: String
    ) throws {
        for version in ["1", #""1.0""#, "1.0", #""1""#, "null"] {
            let callback = try PaymentCallback(kind, try json(Self.body(payment, version: version)).root)
            #expect(callback.kind == kind)
        }
        #expect(throws: PaymentCallbackProblem.unknownVersion) {
            try PaymentCallback(kind, try json(Self.body(payment, version: #""2.0""#)).root)
        }
        guard kind != .orderTracking else { return }
        #expect(throws: PaymentCallbackProblem.self) {
            try PaymentCallback(kind, try json(Self.body("{}")).root)
        }
    }

    @Test(arguments: [
        ("[]", PaymentCallbackProblem.noObject), ("7", .noObject),
        (body("[]"), .missing("payment")), (body("{}", identifier: "7"), .missing("requestIdentifier")),
        (body("{}", identifier: #""""#), .missing("requestIdentifier")),
        (body("{}"), .missing("payment.paymentToken")),
        (
            body(#"{"paymentToken":{"paymentData":{"data":"***"}}}"#), .missing("payment.paymentToken")
        ),
        (body(#"{"paymentToken":{"paymentData":{"data":""}}}"#), .missing("payment.paymentToken")),
        (
            body("{}", identifier: "\"" + String(repeating: "a", count: 257) + "\""),
            .missing("requestIdentifier")
        ),
    ])
    func `a callback without its identifier, its payment or its token is refused`(
        body: String, problem: PaymentCallbackProblem
    ) throws {
        #expect(throws: problem) { try PaymentCallback(.paymentGateway, try json(body).root) }
    }

    @Test func `an order's final sums are read, at most 100 of them`() throws {
        let item = #"{"label":"Halibut","amount":"59.00","type":"Final"}"#
        let items = Array(repeating: item, count: 101).joined(separator: ",")
        let callback = try PaymentCallback(
            .orderTracking, try json(Self.body(#"{"summaryItems":[\#(items)]}"#)).root)
        #expect(callback.summaryItems.count == 100)
        #expect(callback.summaryItems.first == .init("Halibut", amount: "59.00", .final))
    }
}
