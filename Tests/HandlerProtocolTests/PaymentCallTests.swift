import BalloonJSON
import HandlerKit
import HandlerProtocol
import TestSupport
import Testing

struct PaymentCallTests {
    private static func request() -> PaymentRequest {
        var request = PaymentRequest(
            OutboundBubble("Halibut", image: "1"), total: .init("Fish", amount: "63.99"),
            lineItems: [.init("Halibut", amount: "59.00"), .init("Ground", amount: "4.99")],
            currency: "USD", country: "US", networks: ["visa"])
        request.images = [OutboundImage("1", bytes: [1, 2, 3])]
        request.shippingMethods = [.init("cheap", label: "Ground", detail: "5 days", amount: "4.99")]
        return request
    }

    private static let payments: [PaymentCallback.Kind: String] = [
        .paymentGateway: #"{"paymentToken":{"paymentData":{"data":"c2VjcmV0"}}}"#,
        .paymentMethodUpdate: #"{"paymentMethod":{"type":"credit"}}"#,
        .shippingMethodUpdate: #"{"shippingMethod":{"identifier":"cheap"}}"#,
        .shippingContactUpdate: #"{"shippingContact":{"countryCode":"US"}}"#, .orderTracking: "{}",
    ]

    private func context(_ kind: PaymentCallback.Kind) throws -> PaymentContext {
        let body =
            #"{"requestIdentifier":"r","version":"1.0","payment":\#(try #require(Self.payments[kind]))}"#
        let update = SheetUpdate(
            total: .init("Fish", amount: "88.99"),
            lineItems: [.init("Halibut", amount: "59.00"), .init("Air", amount: "29.99")])
        return PaymentContext(
            business: BusinessID("b"), customer: CustomerID("c"), message: MessageID("m"),
            request: Self.request(),
            sheet: try PaymentSheet(Self.request()).applying(update, to: .shippingMethodUpdate),
            callback: try PaymentCallback(kind, try JSONDocument(Array(body.utf8)).root),
            attempt: kind == .paymentGateway ? "ab12" : "",
            decryptedToken: kind == .paymentGateway
                ? try JSONDocument(Array(#"{"transactionAmount":8899}"#.utf8)).root : nil,
            deadline: .now + .seconds(25),
            logger: LogCollector().logger)
    }

    private func reversal() -> PaymentReversal {
        PaymentReversal(
            business: BusinessID("b"), customer: CustomerID("c"), message: MessageID("m"), attempt: "ab12",
            amount: "63.99", currencyCode: "USD", reference: "ch_1", deadline: .now + .seconds(25))
    }

    @Test(arguments: PaymentCallback.Kind.allCases)
    func `a payment's callback survives writing and parsing, without images`(
        kind: PaymentCallback.Kind
    ) throws {
        let context = try context(kind)
        let params = try written { PaymentCall.write(context, to: &$0) }
        let read = try #require(try PaymentCall.context(params, logger: LogCollector().logger))
        #expect(read.callback.kind == kind)
        #expect(read.requestIdentifier == "r")
        #expect(read.sheet == context.sheet)
        #expect(read.attempt == context.attempt)
        #expect(read.decryptedToken?.text == context.decryptedToken?.text)
        #expect(read.callback.token?.encryptedData == context.callback.token?.encryptedData)
        #expect(read.business == context.business && read.customer == context.customer)
        #expect(read.message == context.message)
        var request = context.request
        request.images = []
        #expect(read.request == request)
        #expect(params["sheet"]?["total"]?.string == "88.99")
    }

    @Test func `a reversal survives writing and parsing, and is no callback`() throws {
        let reversal = reversal()
        let params = try written { PaymentCall.write(reversal, to: &$0) }
        #expect(try PaymentCall.context(params, logger: LogCollector().logger) == nil)
        let read = try PaymentCall.reversal(params)
        #expect(read.attempt == "ab12" && read.amount == "63.99" && read.currencyCode == "USD")
        #expect(read.reference == "ch_1" && read.message == reversal.message)
    }

    @Test(arguments: [
        PaymentAnswer.outcome(.success(charged: "1.00", reference: "r")),
        .outcome(.failure([PaymentError(.unknown, message: "no")])), .update(.unchanged),
        .update(SheetUpdate(errors: [PaymentError(.addressUnserviceable, message: "no")])), .received,
    ])
    func `a payment's answer survives writing and parsing`(answer: PaymentAnswer) throws {
        let kind: PaymentCallback.Kind =
            switch answer {
            case .outcome: .paymentGateway
            case .update: .shippingContactUpdate
            case .received: .orderTracking
            }
        let result = try JSONDocument(PaymentCall.json(answer)).root
        #expect(try PaymentCall.answer(result, to: kind) == answer)
    }

    @Test(arguments: ["{}", #"{"call":"pay"}"#, #"{"call":"paymentGateway"}"#, #"{"call":7}"#])
    func `parameters without a known call or a request are refused`(params: String) throws {
        let params = try JSONDocument(Array(params.utf8)).root
        #expect(throws: HandlerProtocolError.self) {
            try PaymentCall.context(params, logger: LogCollector().logger)
        }
    }

    @Test(.enabled(if: SchemaValidator.isInstalled, "\(SchemaValidator.absence)"))
    func `the schema describes every line about a payment`() async throws {
        let id = try JSONDocument([0x31]).root
        var lines = [
            RPCLine.request(id: 5, method: Method.payment) { PaymentCall.write(self.reversal(), to: &$0) }
        ]
        for kind in PaymentCallback.Kind.allCases {
            let context = try context(kind)
            lines.append(
                RPCLine.request(id: 5, method: Method.payment) { PaymentCall.write(context, to: &$0) })
        }
        let called = lines.map { "=payment\t" + String(decoding: $0.dropLast(), as: UTF8.self) }
        let answers = [
            PaymentAnswer.outcome(.success(charged: "1.00", reference: "r")), .outcome(.failure()),
            .update(
                SheetUpdate(
                    total: .init("T", amount: "1"), lineItems: [.init("T", amount: "1")],
                    shippingMethods: [], errors: [PaymentError(.unknown)])),
        ].map { answer in
            let line = RPCLine.result(id: id, raw: PaymentCall.json(answer))
            return "=paymentAnswer\t" + String(decoding: line.dropLast(), as: UTF8.self)
        }
        let cancel = RPCLine.notification(method: Method.cancel) { $0.field("callId", 5) }
        let cancelled = "=cancel\t" + String(decoding: cancel.dropLast(), as: UTF8.self)
        #expect(try await SchemaValidator.differences("handler", called + answers + [cancelled]) == [])
    }
}
