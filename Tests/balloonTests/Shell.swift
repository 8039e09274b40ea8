import BalloonPOSIX
import Glibc
import TestSupport

/// A shell that runs commands in a directory, with the executable that was built beside these tests on its search path.
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

    /// The folder of the executable, which is also that of the tests.
    static func programs() throws -> String { Directory.parent(of: try ProcessPaths.executable()) }

    /// The search path without the executable.
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

    /// Starts `command`, whose standard output is read line by line.
    func start(_ command: String) throws -> RunningCommand {
        let path = "PATH=\(quoted(try Self.programs())):\(Self.systemPath)"
        return try RunningCommand("cd \(quoted(directory)) && \(path) && export PATH && \(command)")
    }
}

/// `text` as one word of a shell command.
func quoted(_ text: String) -> String {
    "'" + text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''") + "'"
}

/// A shell command that runs beside the test; killed with what it started when the value goes.
struct RunningCommand: Sendable {
    private let process: ChildProcess

    /// Starts `command` with its own environment, independent of the tests'.
    init(_ command: String) throws {
        process = try ChildProcess(
            "/bin/sh", ["-c", command], environment: ["HOME": "/", "LC_ALL": "C"], hasErrors: false)
    }

    /// Asks the command and what it runs to end.
    func terminate() { process.signalGroup(SIGTERM) }

    /// Ends the command and what it runs without asking.
    func kill() { process.signalGroup(SIGKILL) }

    /// Tells the command and what it runs that it was hung up on.
    func hangUp() { process.signalGroup(SIGHUP) }

    /// Standard output up to a line that has `mark`, each line with its line feed; nil when it ends before.
    func output(until mark: String) async -> String? {
        // Output that ends without the mark throws: the test then says what is missing.
        guard (try? await process.line(where: { $0.contains(mark) })) != nil else { return nil }
        let lines = process.lines
        let last = lines.firstIndex { $0.contains(mark) } ?? lines.count - 1
        return lines[...last].map { $0 + "\n" }.joined()
    }

    /// Waits for the end; the exit code, or 128 and the signal that killed it.
    func wait() async -> Int32 { await process.status() }
}
