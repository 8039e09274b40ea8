import BalloonPOSIX
import BalloonWire
import BusinessMessages
import Glibc
import HandlerKit
import Logging
import MessageServer
import Payments
import SignIn

/// A server for tests that kill it: `CrashTestServer CONFIGURATION [block|hang]`.
///
/// Its handler answers every text with a random token, a new one for each call; with `block` it never answers, with `hang`
/// it does not even return when it is cancelled, with `throw` it throws when it is shut down, and the text `crash` ends
/// the process. The handler `dead` is outside the process and never ready. With `signIn ISSUER` it asks every
/// customer to sign in at that provider on this machine, and answers with the result. With `pay FOLDER` it asks every
/// customer for a payment; see `Cashier`.
@main struct CrashTestServer {
    static func main() async {
        let arguments = CommandLine.arguments
        guard arguments.count >= 2 else { exit(64) }
        let behaviour = arguments.dropFirst(2).first
        if behaviour == "signIn", arguments.count == 4 {
            return await signIn(configurationFile: arguments[1], issuer: arguments[3])
        }
        if behaviour == "pay", arguments.count == 4 {
            return await pay(configurationFile: arguments[1], folder: arguments[3])
        }
        await Server.run(
            configurationFile: arguments[1], handlers: [TokenFactory(behaviour: behaviour), DeadFactory()])
    }

    /// Serves with a provider that a configuration file could not name, because its address is not `https`.
    private static func signIn(configurationFile: String, issuer: String) async {
        do {
            let handlers = [SigningFactory()]
            var configuration = try ConfigurationLoader.load(
                file: configurationFile, environment: [:], handlers: handlers)
            var provider = Provider(
                issuer: issuer, clientID: "balloon",
                clientAuthentication: .post(try Secret(Array("client-secret-2".utf8))), scope: ["openid"])
            provider.allowsLoopback = true
            var authentication = AuthenticationConfiguration(provider: provider)
            authentication.asksToConfirm = false
            configuration.businesses[0].authentication = authentication
            try await Server.run(configuration, handlers: handlers, logger: Logger(label: "balloon")) { _ in }
        } catch {
            print("\(error)")
            exit(78)
        }
    }
}

extension CrashTestServer {
    /// Serves with a merchant at the simulated service whose certificates and address are in the folder.
    private static func pay(configurationFile: String, folder: String) async {
        do {
            let handlers = [CashierFactory(folder: folder)]
            var configuration = try ConfigurationLoader.load(
                file: configurationFile, environment: [:], handlers: handlers)
            var merchant = MerchantIdentity(
                merchantIdentifier: "merchant.com.example.one", domainName: "localhost", displayName: "One",
                certificateFile: folder + "/merchant.pem", keyFile: folder + "/merchant-key.pem")
            merchant.sessionURL = String(
                decoding: try File(folder + "/session-url", for: .reading).readAll(), as: UTF8.self)
            merchant.authoritiesFile = folder + "/authority.pem"
            configuration.businesses[0].applePay = ApplePayConfiguration(merchant: merchant)
            configuration.paymentTimings = PaymentTimings().divided(by: 100)
            // A busy machine may need longer for a charge that succeeds.
            if !Directory.exists(folder + "/hold") { configuration.paymentTimings.answer = .seconds(25) }
            try await Server.run(configuration, handlers: handlers, logger: Logger(label: "balloon")) { _ in }
        } catch {
            print("\(error)")
            exit(78)
        }
    }
}

private struct CashierFactory: HandlerFactory {
    let folder: String
    var name: String { "token" }
    func make(configuration: JSONValue?) -> any Handler { Cashier(folder: folder) }
}

/// Charges every token: a line in the file `charges` of the folder for each, and one in `reversals` for each reversal.
///
/// While the folder has a file `hold`, a charge never ends, and while it has a file `closed`, reversals fail. The waits of
/// payments are divided by 100.
private struct Cashier: TextHandler, PaymentGatewayHandler {
    let folder: String

    func text(_: Text, _: Context) -> Outcome {
        .reply(
            .payment(
                PaymentRequest(
                    OutboundBubble("Halibut"), total: .init("One", amount: "59.00"),
                    lineItems: [.init("Halibut", amount: "59.00")], currency: "EUR", country: "DE",
                    networks: ["visa"])))
    }

    func paymentGateway(_: PaymentToken, _ context: PaymentContext) async throws -> PaymentOutcome {
        try record(context.attempt, in: "charges")
        while Directory.exists(folder + "/hold") { try await Task.sleep(for: .seconds(3600)) }
        return .success(charged: context.sheet.total.amount, reference: "ch_1")
    }

    func reversal(_ reversal: PaymentReversal) async throws {
        if Directory.exists(folder + "/closed") { throw CancellationError() }
        try record(reversal.attempt, in: "reversals")
    }

    private func record(_ attempt: String, in name: String) throws {
        let file = try File(folder + "/" + name, for: .appending)
        try file.append(Array((attempt + "\n").utf8))
        try file.synchronize()
    }
}

private struct SigningFactory: HandlerFactory {
    let name = "token"
    func make(configuration: JSONValue?) -> any Handler { SigningHandler() }
}

private struct SigningHandler: TextHandler, AuthenticationHandler {
    func text(_: Text, _: Context) -> Outcome { .reply(.signIn(SignInRequest(OutboundBubble("Sign in")))) }

    func authentication(_: Authentication, _ context: Context) -> Outcome {
        guard case .signedIn(let identity) = context.signIn else {
            return .reply(.text(context.signIn?.name ?? "no result"))
        }
        return .reply(.text("welcome \(identity.subject)"))
    }
}

private struct DeadFactory: HandlerFactory {
    let name = "dead"
    func make(configuration: JSONValue?) -> any Handler { DeadHandler() }
}

/// A handler like a program that never starts.
private final class DeadHandler: EventHandler {
    private let (ended, end) = AsyncStream.makeStream(of: Void.self)
    private let began = ContinuousClock.now

    var subscriptions: Set<Subscription> { Subscription.everyKind }
    var maximumInFlight: Int? { nil }
    var downSince: ContinuousClock.Instant? { began }
    var report: HandlerReport { HandlerReport(health: .restarting) }

    func waitUntilReady() async -> Bool {
        for await _ in ended {}
        return false
    }

    func stopWaiting() { end.finish() }
    func restart() {}
    func handle(_ context: Context) -> Outcome { .handled }
}

private struct TokenFactory: HandlerFactory {
    let behaviour: String?
    var name: String { "token" }
    func make(configuration: JSONValue?) -> any Handler {
        behaviour == "throw" ? InterruptedHandler() : TokenHandler(behaviour: behaviour)
    }
}

private struct TokenHandler: TextHandler {
    let behaviour: String?

    func text(_ text: Text, _ context: Context) async throws -> Outcome {
        // The line tells the test that the handler has been entered.
        if let behaviour {
            print("blocked")
            fflush(nil)
            while behaviour == "hang" { sleep(3600) }
            while true { try await Task.sleep(for: .seconds(3600)) }
        }
        if text.body == "crash" { Glibc.kill(getpid(), SIGKILL) }
        return .reply("token \(UInt64.random(in: 0 ... .max)) for \(text.body)")
    }
}

/// Throws from its call when it is shut down, as a client library does whose connection is closed.
private final class InterruptedHandler: TextHandler, LifecycleHandler {
    private struct Interrupted: Error {}

    private let (ended, end) = AsyncStream.makeStream(of: Void.self)

    func provision(_ host: HandlerHost) {}
    func shutdown() { end.finish() }

    func text(_ text: Text, _ context: Context) async throws -> Outcome {
        print("blocked")
        fflush(nil)
        for await _ in ended {}
        throw Interrupted()
    }
}
