import BalloonPOSIX
import Dispatch
import Glibc
import TestSupport

/// A shell that runs commands in a directory, with the executable that was built beside these tests on its search path.
struct Shell: Sendable {
    /// What became of a command.
    struct Result: Sendable {
        let status: Int32
        let output: String
        let errors: String

        /// How many lines standard output has.
        var lineCount: Int { output.split(separator: "\n").count }
    }

    /// Where commands run.
    let directory: String

    /// The folder of the executable: tests are built beside it.
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

    /// Runs `command` again and again until what came of it is `wanted`, for at most a minute; the last result.
    func run(_ command: String, until wanted: (Result) -> Bool) async throws -> Result {
        let deadline = ContinuousClock.now + .seconds(60)
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

/// A shell command that runs beside the test; killed when the value goes.
final class RunningCommand: Sendable {
    private let process: pid_t
    private let output: Descriptor

    /// Starts `command` with an environment of its own: nothing of the tests' reaches it.
    init(_ command: String) throws {
        var ends: [Int32] = [0, 0]
        guard pipe(&ends) == 0 else { throw SystemError("pipe") }
        output = Descriptor(owning: ends[0])
        let input = Descriptor(owning: ends[1])
        // Other children than this one must not keep the pipe open.
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, input.raw, 1)
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        // A group of its own, so that the shell and what it runs end together.
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETPGROUP))
        var arguments = cStrings(["/bin/sh", "-c", command])
        var environment = cStrings(["HOME=/", "LC_ALL=C"])
        defer { for text in arguments + environment { free(text) } }
        var process: pid_t = 0
        let code = posix_spawn(&process, "/bin/sh", &actions, &attributes, &arguments, &environment)
        guard code == 0 else { throw SystemError("posix_spawn", code: code) }
        self.process = process
    }

    deinit { _ = Glibc.kill(-process, SIGKILL) }

    /// Asks the command and what it runs to end.
    func terminate() { _ = Glibc.kill(-process, SIGTERM) }

    /// Ends the command and what it runs without asking.
    func kill() { _ = Glibc.kill(-process, SIGKILL) }

    /// Tells the command and what it runs that it was hung up on.
    func hangUp() { _ = Glibc.kill(-process, SIGHUP) }

    /// Reads standard output up to a line that has `mark`; nil when it ends before.
    func output(until mark: String) async -> String? {
        await offPool { [self] in
            var bytes: [UInt8] = []
            // An error is an end too: the test then says what is missing.
            while let count = try? output.read(onto: &bytes, maximumBytes: 4096), count > 0 {
                let text = String(decoding: bytes, as: UTF8.self)
                if text.hasSuffix("\n"), text.contains(mark) { return text }
            }
            return nil
        }
    }

    /// Waits for the end; the exit code, or 128 and the signal that killed it.
    func wait() async -> Int32 {
        await offPool { [process] in
            var status: Int32 = 0
            while waitpid(process, &status, 0) < 0, errno == EINTR {}
            return status & 0x7F == 0 ? status >> 8 & 0xFF : 128 + status & 0x7F
        }
    }
}

/// Copies for C, with a null behind them; the caller frees them.
private func cStrings(_ texts: [String]) -> [UnsafeMutablePointer<CChar>?] {
    texts.map { (text: String) in strdup(text) } + [nil]
}

/// Runs what blocks on a thread that nobody else needs.
func offPool<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
    await withCheckedContinuation { continuation in
        DispatchQueue.global().async { continuation.resume(returning: body()) }
    }
}
