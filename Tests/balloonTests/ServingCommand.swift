import TestSupport
import Testing

/// A running `balloon serve` or `balloon dev` in a test's own directory.
///
/// It runs as a process of its own instead of inside the tests' process, because these tests are about arguments,
/// output, signals and exit codes.
struct ServingCommand: Sendable {
    /// The end of the text that `balloon dev` prints when it is ready for messages.
    static let endOfGreeting = "conversations show"

    /// A shell in the server's directory, for further commands.
    let shell: Shell
    /// The lines that the server printed until it was ready.
    let greeting: String
    private let process: RunningCommand

    /// Runs `balloon` with these arguments, and returns when it has printed `mark`.
    ///
    /// `setup` is shell text that runs before the command. `log` redirects standard error, by default to the file
    /// `log`.
    init(
        _ arguments: String, in directory: TemporaryDirectory, setup: String = "", log: String = "2>log",
        until mark: String = "listening on 127.0.0.1:"
    ) async throws {
        shell = Shell(directory: directory.path)
        process = try shell.start("\(setup) exec balloon \(arguments) \(log)")
        greeting = try #require(await process.output(until: mark))
    }

    /// Starts `balloon dev` with these further arguments, and returns when it has printed `mark`.
    static func dev(
        _ arguments: String = "", in directory: TemporaryDirectory, until mark: String = endOfGreeting
    ) async throws -> ServingCommand {
        try await ServingCommand("dev --listen 127.0.0.1:0 \(arguments)", in: directory, until: mark)
    }

    /// The listening address that `balloon serve` printed.
    var address: String {
        let line = greeting.split(separator: "\n").first { $0.hasPrefix("listening on ") }
        return String(line?.dropFirst("listening on ".count) ?? "")
    }

    /// Waits for a line of standard output that contains `mark` and returns the output up to it; nil when the output
    /// ends before.
    func output(until mark: String) async -> String? { await process.output(until: mark) }

    /// Ends the server with SIGTERM, and expects the exit status 0.
    func stop() async {
        process.terminate()
        #expect(await process.wait() == 0)
    }

    /// Ends the server with SIGKILL, and returns when its process has ended, so that its locks are released.
    func kill() async {
        process.kill()
        #expect(await process.wait() == 128 + 9)
    }

    /// Sends SIGTERM to the server.
    func terminate() { process.terminate() }

    /// Sends SIGHUP to the server, which then reloads its configuration.
    func hangUp() { process.hangUp() }

    /// Waits for the server's end; returns the exit status, or 128 plus the signal that killed it.
    func wait() async -> Int32 { await process.wait() }
}
