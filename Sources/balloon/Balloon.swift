import ArgumentParser
import BalloonPOSIX
import MessageServer

/// The program: every command, and the one place where errors become exit codes.
@main struct Balloon: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "balloon",
        abstract: "A messaging service provider for Apple Messages for Business.",
        discussion: """
            Data goes to standard output, everything else to standard error. Exit codes: 0 done, 1 failed, \
            64 called wrongly, 65 bad data, 69 something needed is not there, 75 not ended yet, 78 the configuration is wrong.
            """,
        version: BuildVersion.text,
        subcommands: [
            Serve.self, Dev.self, Simulate.self, Send.self, Attachments.self, Validate.self, Convert.self,
            Conversations.self, JournalCommands.self, Events.self, Replies.self, DeadLetters.self,
            Handlers.self,
            Initialize.self, Config.self, Token.self, HealthCheck.self,
        ])

    static func main() async {
        // Whatever a command logged comes before what is said about its end.
        defer { LogStream.standardError.flush(within: .seconds(3)) }
        do {
            var command = try parseAsRoot()
            if var command = command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                try command.run()
            }
            // What asked for the data must not take a part of it for all.
            if let failure = StandardStream.output.failure {
                throw CommandFailure.unwritten(to: "standard output", failure)
            }
        } catch {
            LogStream.standardError.flush(within: .seconds(3))
            // What the parser threw, a call for help included, is its own to word.
            guard let report = FailureReport(error) else { exit(withError: error) }
            StandardStream.error.write(report.text)
            exit(withError: ExitCode(report.code.rawValue))
        }
    }
}
