import BalloonJSON
import BusinessMessages
import Testing

struct PaymentRequestTests {
    private static let applePay =
        #""applePay":{"merchantCapabilities":["supports3DS"],"supportedNetworks":["visa"]}"#
    private static let total = #""total":{"label":"Shop","amount":"59.00","type":"final"}"#

    /// A request with these members in `payment` and in `paymentRequest`.
    private static func request(
        _ members: String = "", sum: String = "", total: String = total, applePay: String = applePay,
        currency: String = "EUR"
    ) -> String {
        #"{"payment":{"paymentRequest":{\#(applePay),"countryCode":"DE","currencyCode":"\#(currency)"\#(sum),\#(total)},"#
            + #""receivedMessage":{"title":"Repair"}\#(members)}}"#
    }

    private static func full() -> PaymentRequest {
        var request = PaymentRequest(
            OutboundBubble("Repair", subtitle: "59 EUR", image: "1"),
            total: .init("Shop", amount: "59.00"),
            lineItems: [
                .init("Wheel", amount: "64.00"), .init("Discount", amount: "-5", nil),
            ], currency: "EUR", country: "DE", networks: ["visa", "amex"])
        request.reply = OutboundBubble("Paid")
        request.images = [OutboundImage("1", bytes: image("789x450"))]
        request.merchantCapabilities = [.supports3DS, .supportsDebit]
        request.requiredBillingContactFields = [.post]
        request.requiredShippingContactFields = [.name, .email]
        request.shippingMethods = [.init("a", label: "Post", detail: "3 days", amount: "0.00")]
        request.supportedCountries = ["DE", "AT"]
        request.sessionIdentifier = "95852f7b-35e3-de9c-4d6d-cec4b940e5f9"
        return request
    }

    @Test func `a payment request is the same after it was written as JSON and read`() throws {
        let request = Self.full()
        let document = try JSONDocument(request.json)
        #expect(PaymentRequest.problems(in: document.root).map(\.description) == [])
        #expect(try PaymentRequest(json: document.root) == request)
        #expect(text(try PaymentRequest(json: try json(Self.request()).root).json) == Self.request())
    }

    @Test func `a payment request as a message keeps its labels and its fallback in JSON`() throws {
        let members = #"{"fallback":"Pay in the shop.","locale":"de_DE","# + Self.request().dropFirst()
        let message = try OutboundMessage(json: try json(members))
        #expect(text(message.draft()) == members)
        #expect(message.kind == .applePay)
        #expect(message.fallback == "Pay in the shop.")
        #expect(OutboundMessage.problems(in: try json(members).root).map(\.description) == [])
    }

    @Test func `the message of a payment request has placeholders for the server's parts and a large bubble`()
        throws
    {
        var request = Self.full()
        request.received.style = .icon
        let message = OutboundMessage.payment(request)
        #expect(message.problems().map(\.description) == [])
        let sent = try JSONDocument(
            message.encode(id: MessageID("m"), from: BusinessID("b"), to: CustomerID("c"))
        ).root
        let payment = try #require(sent["interactiveData"]?["data"]?["payment"])
        #expect(payment["endpoints"]?.string == "[added when sent]")
        #expect(payment["merchantSession"]?.string == "[added when sent]")
        #expect(
            payment["paymentRequest"]?["applePay"]?["merchantIdentifier"]?.string == "[added when sent]")
        #expect(sent["interactiveData"]?["receivedMessage"]?["style"]?.string == "large")
        #expect(OutboundMessage.redacted(sent) == nil)
        request.received.style = .large
        #expect(PaymentRequest(sent: sent) == request)
    }

    @Test(arguments: [
        ("/payment/endpoints", request(#","endpoints":{"paymentGatewayUrl":"secret-value"}"#)),
        ("/payment/merchantSession", request(#","merchantSession":"secret-value""#)),
        ("/payment/requestIdentifier", request(#","requestIdentifier":"secret-value""#)),
        (
            "/payment/paymentRequest/applePay/merchantIdentifier",
            request(
                applePay: applePay.replacing("{", with: #"{"merchantIdentifier":"secret-value","#))
        ),
    ])
    func `a payment request with a member that the server sets is refused at that member`(
        pointer: String, message: String
    ) throws {
        let error = #expect(throws: InvalidMessage.self) { try PaymentRequest(json: try json(message).root) }
        #expect(error?.problems.map(\.rule) == [.paymentMember])
        #expect(error?.problems.map(\.pointer) == [pointer])
        #expect(error?.problems.contains { $0.description.contains("secret-value") } == false)
    }

    @Test(arguments: [
        ("59.00", "EUR", #"[{"label":"A","amount":"59"}]"#, nil),
        ("59.00", "EUR", #"[{"label":"A","amount":"60"},{"label":"B","amount":"-1.00"}]"#, nil),
        ("59.00", "EUR", #"[{"label":"A","amount":"58.99"}]"#, "lineItems"),
        ("59.00", "EUR", #"[{"label":"A","amount":"7","type":"Pending"}]"#, nil),
        ("59.001", "EUR", "[]", "total.amount"), ("59.0", "JPY", "[]", "total.amount"),
        ("59", "JPY", nil, nil), ("0.001", "KWD", nil, nil), ("92233720368547758.07", "EUR", nil, nil),
        ("92233720368547758.08", "EUR", nil, "total.amount"),
        (
            "59.00", "EUR",
            #"[{"label":"A","amount":"92233720368547758.07"},{"label":"B","amount":"0.01"}]"#, "lineItems"
        ),
    ])
    func `the amounts of a payment request are exact and its final line items sum to the total`(
        amount: String, currency: String, items: String?, field: String?
    ) throws {
        let items = items.flatMap { $0 == "[]" ? nil : #","lineItems":"# + $0 } ?? ""
        let message = Self.request(
            sum: items, total: #""total":{"label":"Shop","amount":"\#(amount)"}"#, currency: currency)
        let problems = PaymentRequest.problems(in: try json(message).root)
        #expect(problems.map(\.rule) == (field == nil ? [] : [.paymentSum]))
        #expect(problems.first?.found == field)
    }

    @Test(arguments: [
        (#"{"payment":7}"#, MessageRule.type, "/payment"),
        (#"{"payment":{}}"#, .required, "/payment/paymentRequest"),
        (
            request(sum: #","shippingMethods":[{"identifier":"a","label":"A","detail":"d","amount":"-1"}]"#),
            .shippingAmount, "/payment/paymentRequest/shippingMethods/0/amount"
        ),
        (
            request(total: #""total":{"label":"Shop","amount":"0"}"#), .total,
            "/payment/paymentRequest/total/amount"
        ),
        (
            request(total: #""total":{"label":"Shop","amount":5}"#), .type,
            "/payment/paymentRequest/total/amount"
        ),
        (request(currency: "EURO"), .currencyCode, "/payment/paymentRequest/currencyCode"),
        (request(#","replyMessage":{"title":7}"#), .type, "/payment/replyMessage/title"),
    ])
    func `a problem of a payment request has its rule and its place`(
        message: String, rule: MessageRule, pointer: String
    ) throws {
        let error = #expect(throws: InvalidMessage.self) { try PaymentRequest(json: try json(message).root) }
        let problem = error?.problems.first { $0.severity == .error }
        #expect(problem?.rule == rule)
        #expect(problem?.pointer == pointer)
    }

    @Test func `another style than large is a warning`() throws {
        let message = Self.request().replacing(#""title":"Repair""#, with: #""title":"R","style":"icon""#)
        let problems = PaymentRequest.problems(in: try json(message).root)
        #expect(problems.map(\.rule) == [.paymentStyle])
        #expect(!problems.hasErrors)
    }

    @Test(arguments: [
        ("1525730094057", 1_525_730_094_057), ("1525730094", 1_525_730_094_000),
        (#""1525730094057""#, 1_525_730_094_057), ("-5", nil), ("null", nil),
        ("9223372036854775807", Int.max),
    ])
    func `a merchant session's expiry is read in milliseconds`(value: String, expected: Int?) throws {
        let session = MerchantSession(try json(#"{"expiresAt":\#(value)}"#).root)
        #expect(session?.expiresAtMilliseconds == expected)
    }
}
