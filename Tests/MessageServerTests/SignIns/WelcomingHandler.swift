import BalloonJSON
import BusinessMessages
import HandlerKit
import MessageServer
import ServerTestSupport
import TestSupport

/// Asks each customer who writes to sign in, and greets by the result.
struct WelcomingHandler: TextHandler, AuthenticationHandler {
    func text(_: Text, _: Context) -> Outcome {
        .reply(.signIn(SignInRequest(OutboundBubble("Sign in"))).orText("Please call us."))
    }

    func authentication(_: Authentication, _ context: Context) -> Outcome {
        switch context.signIn {
        case .signedIn(let identity): .reply("welcome \(identity.subject)")
        case .unverified(let claims): .reply("unverified \(claims["email"]?.string ?? "nobody")")
        case .failed(let code): .reply("failed \(code)")
        case let result?: .reply(result.name)
        case nil: .reply("no result")
        }
    }
}

extension SignInUnderTest {
    /// A server whose businesses have a handler in the process.
    init(
        _ handler: any Handler = WelcomingHandler(), in directory: TemporaryDirectory = TemporaryDirectory(),
        adjust: (inout AuthenticationConfiguration) -> Void = { _ in },
        change: (inout ServerConfiguration) -> Void = { _ in }
    ) async throws {
        self = try await Self.start(adjust: adjust) { authentication in
            try await ServerUnderTest(handler, directory: directory) { configuration in
                configuration.businesses[0].authentication = authentication
                change(&configuration)
            }
        }
    }
}
