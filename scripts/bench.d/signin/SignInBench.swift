import BalloonPOSIX
import BalloonWire
import BusinessMessages
import Glibc
import HandlerKit
import Logging
import MessageServer
import SignIn

/// Measures sign-ins; `scripts/bench.d/signins` calls it.
///
/// `serve CONFIGURATION ISSUER` is a server whose business `signin` asks each customer to sign in at that provider.
/// `token SECRET` prints a token of Apple. `play SECRET` is the provider, Apple's gateway and the customers: see ``SignInPlay``. `fill CONFIGURATION COUNT` makes a data
/// directory with that many open requests.
@main struct SignInBench {
    static let mspID = "00000000-0000-4000-8000-000000000001"
    static let business = BusinessID("5a6b7c8d-0000-4000-8000-000000000001")
    static let clientSecret = "bench-client-secret"

    static func main() async throws {
        let arguments = Array(CommandLine.arguments.dropFirst())
        let form = JSONLogLine.form(isJournal: false)
        LoggingSystem.bootstrap { _ in LineLogHandler(level: .info, form: form) }
        switch (arguments.first, arguments.count) {
        case ("serve", 3): try await serve(arguments[1], issuer: arguments[2])
        case ("play", 2): try await SignInPlay(secretFile: arguments[1]).run()
        case ("token", 2): try SignInPlay(secretFile: arguments[1]).printToken()
        case ("fill", 3):
            guard let count = Int(arguments[2]) else { exit(64) }
            try await RequestFiller.fill(arguments[1], count: count)
        default: exit(64)
        }
    }

    /// Serves with a provider that a configuration file could not name, because its address is not `https`.
    private static func serve(_ file: String, issuer: String) async throws {
        let handlers = [SigningFactory()]
        var configuration = try ConfigurationLoader.load(file: file, environment: [:], handlers: handlers)
        var provider = Provider(
            issuer: issuer, clientID: "balloon",
            clientAuthentication: .post(try Secret(Array(clientSecret.utf8))), scope: ["openid"])
        provider.allowsLoopback = true
        var authentication = AuthenticationConfiguration(provider: provider)
        authentication.asksToConfirm = false
        guard let index = configuration.businesses.firstIndex(where: { $0.businessID == business }) else {
            exit(65)
        }
        configuration.businesses[index].authentication = authentication
        try await Server.run(configuration, handlers: handlers, logger: Logger(label: "bench")) { addresses in
            for address in addresses { StandardStream.output.write("listening on \(address)\n") }
        }
    }
}

private struct SigningFactory: HandlerFactory {
    let name = "signin"
    func make(configuration: JSONValue?) -> any Handler { SigningHandler() }
}

private struct SigningHandler: TextHandler, AuthenticationHandler {
    func text(_: Text, _: Context) -> Outcome { .reply(.signIn(SignInRequest(OutboundBubble("Sign in")))) }

    func authentication(_: Authentication, _ context: Context) -> Outcome {
        guard case .signedIn(let identity) = context.signIn else { return .reply(.text("failed")) }
        return .reply(.text("welcome \(identity.subject)"))
    }
}
