import BalloonPOSIX
import Glibc
import TestSupport

/// A shell that runs commands in a directory; its search path has the `balloon` that was built with these tests.
struct Shell: Sendable {
    /// The result of a command.
    struct Result: Sendable {
        let status: Int32
        let output: String
        let errors: String

        /// The number of lines on standard output.
        var lineCount: Int { output.split(separator: "\n").count }
    }

    /// The working directory of commands.
    let directory: String

    /// The folder of the tests' executable, which also contains `balloon`.
    static func programs() throws -> String { Directory.parent(of: try ProcessPaths.executable()) }

    /// The search path without the folder of `balloon`.
    static let systemPath = "/usr/local/bin:/usr/bin:/bin"

    /// Runs `command` to its end, for at most five minutes.
    func run(_ command: String) async throws -> Result {
        let output = TemporaryDirectory()
        let running = try start(
            "timeout 300 sh -c \(quoted(command)) >\(output.file("out")) 2>\(output.file("err"))")
        let status = await running.wait()
        func text(_ name: String) throws -> String {
            String(decoding: try File(output.file(name), for: .reading).readAll(), as: UTF8.self)
        }
        return Result(status: status, output: try text("out"), errors: try text("err"))
    }

    /// Repeats `command` until its result is `wanted`, at most for ``WaitLimit``; returns the last result.
    func run(_ command: String, until wanted: (Result) -> Bool) async throws -> Result {
        let deadline = ContinuousClock.now + .seconds(WaitLimit.seconds)
        while true {
            let result = try await run(command)
            if wanted(result) || ContinuousClock.now >= deadline { return result }
        }
    }

    /// Starts `command` and returns while it runs; the test reads its standard output line by line.
    func start(_ command: String) throws -> RunningCommand {
        let path = "PATH=\(quoted(try Self.programs())):\(Self.systemPath)"
        return try RunningCommand("cd \(quoted(directory)) && \(path) && export PATH && \(command)")
    }
}

/// Quotes `text` so that a shell reads it as one word.
func quoted(_ text: String) -> String {
    "'" + text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''") + "'"
}

/// A shell command that runs beside the test.
///
/// When the value is destroyed, the command and all processes that it started are killed.
struct RunningCommand: Sendable {
    private let process: ChildProcess

    /// Starts `command` with a small fixed environment, independent of that of the tests.
    init(_ command: String) throws {
        process = try ChildProcess(
            "/bin/sh", ["-c", command], environment: ["HOME": "/", "LC_ALL": "C"], hasErrors: false)
    }

    /// Sends SIGTERM to the command and to the processes that it started.
    func terminate() { process.signalGroup(SIGTERM) }

    /// Sends SIGKILL to the command and to the processes that it started.
    func kill() { process.signalGroup(SIGKILL) }

    /// Sends SIGHUP to the command and to the processes that it started.
    func hangUp() { process.signalGroup(SIGHUP) }

    /// Waits for a line of standard output that contains `mark` and returns the output up to it; nil when the output
    /// ends before.
    func output(until mark: String) async -> String? {
        // Reading throws when the output ends without the mark; nil lets the test report which output is missing.
        guard (try? await process.line(where: { $0.contains(mark) })) != nil else { return nil }
        let lines = process.lines
        let last = lines.firstIndex { $0.contains(mark) } ?? lines.count - 1
        return lines[...last].map { $0 + "\n" }.joined()
    }

    /// Waits for the command's end; returns the exit status, or 128 plus the signal that killed it.
    func wait() async -> Int32 { await process.status() }
}
