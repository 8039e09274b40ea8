import BusinessMessages
import Glibc
import HandlerKit
import MessageServer

/// A server for tests that kill it: `CrashTestServer CONFIGURATION [block]`.
///
/// Its handler answers every text with a random token, a new one for each call; with `block` it never answers, and the
/// text `crash` ends the process.
@main struct CrashTestServer {
    static func main() async {
        let arguments = CommandLine.arguments
        guard arguments.count >= 2 else { exit(64) }
        let isBlocked = arguments.dropFirst(2).contains("block")
        await Server.run(configurationFile: arguments[1], handlers: [TokenFactory(isBlocked: isBlocked)])
    }
}

private struct TokenFactory: HandlerFactory {
    let isBlocked: Bool
    var name: String { "token" }
    func make(configuration: JSONValue?) -> any Handler { TokenHandler(isBlocked: isBlocked) }
}

private struct TokenHandler: TextHandler {
    let isBlocked: Bool

    func text(_ text: Text, _ context: Context) async throws -> Outcome {
        // The line tells the test that the handler has been entered.
        if isBlocked {
            print("blocked")
            fflush(nil)
            while true { try await Task.sleep(for: .seconds(3600)) }
        }
        if text.body == "crash" { Glibc.kill(getpid(), SIGKILL) }
        return .reply("token \(UInt64.random(in: 0 ... .max)) for \(text.body)")
    }
}
