import ArgumentParser
import BalloonPOSIX
import MessageServer

/// The program: its commands, and the mapping of errors to exit codes.
@main struct Balloon: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "balloon", abstract: "A messaging service provider for Apple Messages for Business.",
        discussion: """
            Data goes to standard output, everything else to standard error. Exit codes: 0 done, 1 failed, \
            64 wrong usage, 65 invalid data, 69 something required is unavailable, 75 still in progress, 78 wrong configuration.
            """,
        version: BuildVersion.text,
        subcommands: [
            Serve.self, Dev.self, Simulate.self, Chat.self, Send.self, Attachments.self, Validate.self,
            Convert.self, Conversations.self, JournalCommands.self, BackupCommand.self, RestoreCommand.self,
            StoreCommands.self,
            Export.self, Erase.self, Events.self, Replies.self, DeadLetters.self, Authentications.self,
            Onboarding.self, PaymentsCommand.self, Handlers.self, People.self, Texts.self,
            RetentionCommands.self, StatusCommand.self, LogLevelCommand.self, ScenarioCommands.self,
            ReviewCommand.self, Initialize.self, Config.self, DoctorCommand.self, Token.self,
            HealthCheck.self,
        ])

    static func main() async {
        FreeMemory.limitArenas()
        // A background queue writes the log lines; wait until it has written the last ones. A stop by signal has
        // already waited, within its limit.
        defer {
            if !LogStream.standardError.isStuck { LogStream.standardError.flush(within: .seconds(3)) }
        }
        do {
            var command = try parseAsRoot()
            if var command = command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                try command.run()
            }
            // The command fails when its output is incomplete, because a reader would take the output for the
            // whole result. A broken pipe is no failure: the reader, such as `head`, has closed the pipe and
            // needs no more output.
            if let failure = StandardStream.output.failure, !failure.isBrokenPipe {
                throw CommandFailure.unwritten(to: "standard output", failure)
            }
        } catch {
            LogStream.standardError.flush(within: .seconds(3))
            // The argument parser formats its own errors, including requests for help.
            guard let report = FailureReport(error) else { exit(withError: error) }
            StandardStream.error.write(report.text)
            exit(withError: ExitCode(report.code.rawValue))
        }
    }
}
