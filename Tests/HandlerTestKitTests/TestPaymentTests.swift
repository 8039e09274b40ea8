import HandlerKit
import HandlerTestKit
import Synchronization
import Testing

struct TestPaymentTests {
    private struct Unreachable: Error {}

    private final class Fishmonger: PaymentGatewayHandler, ShippingMethodUpdateHandler,
        ShippingContactUpdateHandler
    {
        private let reversed = Mutex<[String]>([])
        var reversals: [String] { reversed.withLock { $0 } }

        func paymentGateway(_ token: PaymentToken, _ context: PaymentContext) -> PaymentOutcome {
            guard context.callback.shippingMethod?.identifier != "stolen" else { return .failure() }
            let charged = context.callback.shippingMethod?.identifier == "wrong" ? "1.00" : nil
            return .success(
                charged: charged ?? context.sheet.total.amount, reference: "ch_" + context.attempt)
        }

        func reversal(_ reversal: PaymentReversal) throws {
            guard reversal.attempt != "lost" else { throw Unreachable() }
            reversed.withLock { $0.append(reversal.attempt + " " + reversal.amount) }
        }

        func shippingMethodUpdate(
            _ method: PaymentSheet.ShippingMethod, _ context: PaymentContext
        ) -> SheetUpdate {
            guard method.identifier == "air" else { return .unchanged }
            return SheetUpdate(
                total: .init("Fish", amount: "88.99"),
                lineItems: [.init("Halibut", amount: "59.00"), .init("Air", amount: "29.99")])
        }

        func shippingContactUpdate(_ contact: PaymentContact, _ context: PaymentContext) -> SheetUpdate {
            guard contact.countryCode == "US" else {
                return SheetUpdate(errors: [PaymentError(.addressUnserviceable, message: "US only")])
            }
            // A wrong sum.
            return SheetUpdate(total: .init("Fish", amount: "1.00"))
        }
    }

    private func payment(_ handler: any Handler) throws -> TestPayment {
        try TestPayment(
            with: handler,
            PaymentRequest(
                OutboundBubble("Halibut"), total: .init("Fish", amount: "63.99"),
                lineItems: [.init("Halibut", amount: "59.00"), .init("Ground", amount: "4.99")],
                currency: "USD", country: "US", networks: ["visa"]))
    }

    @Test func `a customer changes the delivery, pays the new sum, and gets it back`() async throws {
        let shop = Fishmonger()
        let customer = try payment(shop)
        #expect(try await customer.selectsShippingMethod("ground") == .unchanged)
        try await customer.selectsShippingMethod("air")
        #expect(customer.sheet.totalMinorUnits == 8899)
        #expect(
            try await customer.authorizes(shippingMethod: "air", attempt: "7")
                == .success(charged: "88.99", reference: "ch_7"))
        #expect(try await customer.authorizes(shippingMethod: "stolen") == .failure())
        try await customer.isReversed(attempt: "7")
        #expect(shop.reversals == ["7 88.99"])
        await #expect(throws: Unreachable.self) { try await customer.isReversed(attempt: "lost") }
    }

    @Test func `a wrong sum of an update and of a charge is a problem`() async throws {
        let customer = try payment(Fishmonger())
        #expect(
            try await customer.selectsAddress(countryCode: "fr").errors.map(\.code) == [.addressUnserviceable]
        )
        await #expect(throws: PaymentAnswerProblem(.sum, at: "newLineItems")) {
            try await customer.selectsAddress(countryCode: "us")
        }
        await #expect(throws: PaymentAnswerProblem(.charged, at: "charged")) {
            try await customer.authorizes(shippingMethod: "wrong")
        }
    }

    @Test func `a call that the handler has no protocol for is an error`() async throws {
        struct Nobody: Handler {}
        await #expect(throws: TestConversationError.notSubscribed) {
            try await payment(Fishmonger()).selectsCard("credit")
        }
        await #expect(throws: TestConversationError.notSubscribed) {
            try await payment(Nobody()).isReversed()
        }
        #expect(payments(of: Nobody()) == [])
        #expect(
            payments(of: Fishmonger()) == [.paymentGateway, .shippingMethodUpdate, .shippingContactUpdate])
    }
}
