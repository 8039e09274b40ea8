import BalloonWire
import BusinessMessages
import Glibc
import HandlerKit
import Logging
import MessageServer
import SignIn

/// A server for tests that kill it: `CrashTestServer CONFIGURATION [block|hang]`.
///
/// Its handler answers every text with a random token, a new one for each call; with `block` it never answers, with `hang`
/// it does not even return when it is cancelled, and the text `crash` ends the process. With `signIn ISSUER` it asks every
/// customer to sign in at that provider on this machine, and answers with the result.
@main struct CrashTestServer {
    static func main() async {
        let arguments = CommandLine.arguments
        guard arguments.count >= 2 else { exit(64) }
        let behaviour = arguments.dropFirst(2).first
        if behaviour == "signIn", arguments.count == 4 {
            return await signIn(configurationFile: arguments[1], issuer: arguments[3])
        }
        await Server.run(configurationFile: arguments[1], handlers: [TokenFactory(behaviour: behaviour)])
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

private struct TokenFactory: HandlerFactory {
    let behaviour: String?
    var name: String { "token" }
    func make(configuration: JSONValue?) -> any Handler { TokenHandler(behaviour: behaviour) }
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
