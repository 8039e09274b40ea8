import ArgumentParser
import BalloonJSON
import BalloonPOSIX
import MessageServer

/// `balloon status`: the state of the running server.
struct StatusCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract:
            "Show the state of the running server: readiness, businesses, connections, journal and disk.",
        discussion: """
            PENDING are messages whose delivery has not ended, and OLDEST is the age of the oldest. DEAD are dead letters, OUTBOX are \
            replies that wait, WAITING and PERSON are conversations that wait for a person and that are with one. For scripts use \
            balloon healthcheck, whose exit status says whether the server is ready.
            """)

    /// The pause between two answers with `--watch`.
    private static let pause = Duration.seconds(2)

    @Flag(help: "Show the state every two seconds until the command is stopped.")
    var watch = false

    @OptionGroup var options: ReadingOptions

    func run() async throws {
        let socket = try ControlSocket(data: options.data)
        guard watch else { return try await show(socket) }
        let isScreen = StandardStream.output.isTerminal && !options.json
        // Stop when a write has failed, for example because the reader of a pipe has closed the pipe.
        while StandardStream.output.failure == nil {
            do {
                // The sequence clears the screen only after the answer has arrived, so that the screen is
                // never empty.
                try await show(socket, after: isScreen ? "\u{1b}[H\u{1b}[2J" : "")
            } catch CommandFailure.noAnswer {
                // Continue after an error, because the server may be restarting.
                StandardStream.error.write("no server answers\n")
            }
            try await Task.sleep(for: Self.pause)
        }
    }

    private func show(_ socket: ControlSocket, after prefix: String = "") async throws {
        let answer = try await socket.ask(ControlOperations.status, Nothing())
        guard !options.json else {
            return StandardStream.output.write(terminalJSON(String(decoding: answer, as: UTF8.self)) + "\n")
        }
        guard let status = ServerStatus.form.value(try JSONDocument(answer).root) else {
            throw CommandFailure.refused(status: 200, answer: "the answer is not a status")
        }
        StandardStream.output.write(prefix + StatusRendering.text(status, style: .output))
    }
}
