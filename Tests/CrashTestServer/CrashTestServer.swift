import BusinessMessages
import Glibc
import HandlerKit
import MessageServer

/// A server for tests that kill it: `CrashTestServer CONFIGURATION [block|hang]`.
///
/// Its handler answers every text with a random token, a new one for each call; with `block` it never answers, with `hang`
/// it does not even return when it is cancelled, and the text `crash` ends the process.
@main struct CrashTestServer {
    static func main() async {
        let arguments = CommandLine.arguments
        guard arguments.count >= 2 else { exit(64) }
        let behaviour = arguments.dropFirst(2).first
        await Server.run(configurationFile: arguments[1], handlers: [TokenFactory(behaviour: behaviour)])
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
