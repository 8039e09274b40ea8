import TestSupport
import Testing

/// The command `balloon` that serves in a directory of the test's own, after it has printed its address.
///
/// It is a process, not a server in the tests' process, because these tests are about arguments, output, signals and exit codes.
struct ServingCommand: Sendable {
    /// What `balloon dev` prints last before it takes messages.
    static let endOfGreeting = "conversations show"

    /// The server's directory, where further commands run.
    let shell: Shell
    /// The lines that it printed until it listened.
    let greeting: String
    private let process: RunningCommand

    /// Runs `balloon` with these arguments, and returns when it has printed `mark`.
    ///
    /// `setup` are shell commands before it. Its log goes to the file `log`, unless `log` says otherwise.
    init(
        _ arguments: String, in directory: TemporaryDirectory, setup: String = "", log: String = "2>log",
        until mark: String = "listening on 127.0.0.1:"
    ) async throws {
        shell = Shell(directory: directory.path)
        process = try shell.start("\(setup) exec balloon \(arguments) \(log)")
        greeting = try #require(await process.output(until: mark))
    }

    /// `balloon dev` with these further arguments.
    static func dev(
        _ arguments: String = "", in directory: TemporaryDirectory, until mark: String = endOfGreeting
    ) async throws -> ServingCommand {
        try await ServingCommand("dev --listen 127.0.0.1:0 \(arguments)", in: directory, until: mark)
    }

    /// Where it listens, as `serve` prints it.
    var address: String {
        let line = greeting.split(separator: "\n").first { $0.hasPrefix("listening on ") }
        return String(line?.dropFirst("listening on ".count) ?? "")
    }

    /// Standard output up to a line that has `mark`; nil when it ends before.
    func output(until mark: String) async -> String? { await process.output(until: mark) }

    /// Ends it in good order.
    func stop() async {
        process.terminate()
        #expect(await process.wait() == 0)
    }

    /// Ends it without asking, and returns when its locks are gone.
    func kill() async {
        process.kill()
        #expect(await process.wait() == 128 + 9)
    }

    /// Asks it to end.
    func terminate() { process.terminate() }

    /// Asks it to read its files again.
    func hangUp() { process.hangUp() }

    /// Waits for its end; the exit code, or 128 and the signal that killed it.
    func wait() async -> Int32 { await process.wait() }
}
