import BalloonPOSIX
import BusinessMessages
import Glibc
import HandlerBridges
import HandlerKit
import Logging
import MessageServer
import Payments

/// Measures payments; `scripts/bench.d/payments` calls it.
///
/// `serve CONFIGURATION FOLDER` is a server whose business takes payments with the merchant in that folder. `token SECRET`
/// prints a token of Apple. `play SECRET FOLDER` is Apple Pay's service for sessions, Apple's gateway and the customers: see
/// ``PaymentPlay``.
@main struct PaymentBench {
    static let mspID = "00000000-0000-4000-8000-000000000001"
    static let business = BusinessID("5a6b7c8d-0000-4000-8000-000000000001")

    static func main() async throws {
        let arguments = Array(CommandLine.arguments.dropFirst())
        let form = JSONLogLine.form(isJournal: false)
        LoggingSystem.bootstrap { _ in LineLogHandler(level: .info, form: form) }
        switch (arguments.first, arguments.count) {
        case ("serve", 3): try await serve(arguments[1], folder: arguments[2])
        case ("play", 3): try await PaymentPlay(secretFile: arguments[1], folder: arguments[2]).run()
        case ("token", 2): try PaymentPlay.printToken(secretFile: arguments[1])
        default: exit(64)
        }
    }

    /// Serves with a merchant whose service for sessions has a certificate of its own authority.
    private static func serve(_ file: String, folder: String) async throws {
        let handlers: [any HandlerFactory] = [
            CashierFactory(isHolding: false), CashierFactory(isHolding: true), ExecBinder(), HTTPBinder(),
        ]
        var configuration = try ConfigurationLoader.load(file: file, environment: [:], handlers: handlers)
        var merchant = MerchantIdentity(
            merchantIdentifier: "merchant.com.example.bench", domainName: "localhost", displayName: "Bench",
            certificateFile: folder + "/merchant.pem", keyFile: folder + "/merchant-key.pem")
        merchant.sessionURL = String(
            decoding: try File(folder + "/session-url", for: .reading).readAll(), as: UTF8.self)
        merchant.authoritiesFile = folder + "/authority.pem"
        guard let index = configuration.businesses.firstIndex(where: { $0.businessID == business }) else {
            exit(65)
        }
        configuration.businesses[index].applePay = ApplePayConfiguration(merchant: merchant)
        try await Server.run(configuration, handlers: handlers, logger: Logger(label: "bench")) { addresses in
            for address in addresses { StandardStream.output.write("listening on \(address)\n") }
        }
    }
}

/// Creates the handler `cashier`, or `holding`, whose charges never end.
private struct CashierFactory: HandlerFactory {
    let isHolding: Bool
    var name: String { isHolding ? "holding" : "cashier" }
    func make(configuration: JSONValue?) -> any Handler { Cashier(isHolding: isHolding) }
}

/// The same as `config/handlers/python/shop.py` at the text "pay", so that the bindings do equal work.
private struct Cashier: TextHandler, ApplePayHandler, PaymentGatewayHandler, ShippingMethodUpdateHandler {
    let isHolding: Bool

    private static let prices = ["bicycle": ("Bicycle", "2.00", "8.00"), "post": ("Post", "4.00", "10.00")]

    func text(_: Text, _: Context) -> Outcome {
        var request = PaymentRequest(
            OutboundBubble("A basket of bread"), total: .init("Shop", amount: "8.00"),
            lineItems: [.init("Bread", amount: "6.00"), .init("Bicycle", amount: "2.00")], currency: "EUR",
            country: "DE", networks: ["visa"])
        request.shippingMethods = [
            .init("bicycle", label: "Bicycle", detail: "Within two hours", amount: "2.00"),
            .init("post", label: "Post", detail: "Tomorrow", amount: "4.00"),
        ]
        return .reply(.payment(request))
    }

    func applePay(_: ApplePay, _ context: Context) -> Outcome {
        .reply(.text(context.payment?.state == .paid ? "Thank you!" : "Not paid."))
    }

    func shippingMethodUpdate(
        _ method: PaymentSheet.ShippingMethod, _: PaymentContext
    ) -> SheetUpdate {
        guard let (label, price, total) = Self.prices[method.identifier] else { return .unchanged }
        return SheetUpdate(
            total: .init("Shop", amount: total),
            lineItems: [.init("Bread", amount: "6.00"), .init(label, amount: price)])
    }

    func paymentGateway(_: PaymentToken, _ context: PaymentContext) async throws -> PaymentOutcome {
        if isHolding { try await Task.sleep(for: .seconds(3600)) }
        return .success(charged: context.sheet.total.amount, reference: "bench")
    }

    func reversal(_: PaymentReversal) {}
}
