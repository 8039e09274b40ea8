import BalloonPOSIX
import Dispatch
public import Glibc
import Synchronization

/// A program that a test runs, with its output as lines and its exit status.
///
/// The process is killed when the value is destroyed.
public final class ChildProcess: Sendable {
    /// An error of a program.
    public enum Failure: Error {
        /// The program could not be started: the `errno`.
        case spawn(Int32)
        /// The output ended before the awaited line; the value is the whole output.
        case ended(output: [String])
    }

    /// The process's id, also that of its process group.
    public let id: pid_t
    private let output = EventCollector<String>()
    private let end: End

    /// Starts `path` with an empty standard input; standard error is merged into the output unless
    /// `hasErrors` is false.
    public init(
        _ path: String, _ arguments: [String], environment: [String: String]? = nil, hasErrors: Bool = true
    ) throws {
        var ends: [Int32] = [0, 0]
        // Use a socket pair, because it is created with close-on-exec: another test may start a child at any
        // moment.
        let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        guard socketpair(AF_UNIX, type, 0, &ends) == 0 else { throw Failure.spawn(errno) }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_adddup2(&actions, ends[1], 1)
        if hasErrors { posix_spawn_file_actions_adddup2(&actions, ends[1], 2) }
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETPGROUP))
        let variables = (environment ?? ProcessEnvironment.variables()).map { "\($0)=\($1)" }
        var process: pid_t = 0
        let status = withCStrings([path] + arguments) { arguments in
            withCStrings(variables) { variables in
                posix_spawn(&process, path, &actions, &attributes, arguments, variables)
            }
        }
        close(ends[1])
        guard status == 0 else {
            close(ends[0])
            throw Failure.spawn(status)
        }
        id = process
        end = End(process)
        // Neither closure retains this value, so that its `deinit` can kill the process.
        DispatchQueue(label: "child.output").async { [output, descriptor = ends[0]] in
            readLines(of: descriptor, into: output)
        }
        DispatchQueue(label: "child.end").async { [end] in end.reap() }
    }

    deinit { signalGroup(SIGKILL) }

    /// Whether the process has ended.
    public var hasEnded: Bool { end.hasEnded }

    /// Every whole line so far.
    public var lines: [String] { output.events }

    /// Waits until the output has ended, at most for ``WaitLimit``, and returns every line.
    public func allLines() async -> [String] {
        _ = await killingLate { await output.firstUntilFinish { _ in false } }
        return lines
    }

    /// Waits for a line that `wanted` accepts, among the lines so far and later ones, and returns the first.
    ///
    /// Throws when the output ends without such a line; at ``WaitLimit`` the process is killed, which ends
    /// the output.
    @discardableResult
    public func line(where wanted: @escaping @Sendable (String) -> Bool) async throws -> String {
        guard let line = await killingLate({ await output.firstUntilFinish(where: wanted) }) else {
            throw Failure.ended(output: lines)
        }
        return line
    }

    /// Sends a signal to the process alone, unless it has ended.
    public func signal(_ number: Int32) { end.send(number, to: id) }

    /// Sends a signal to the process and what it started, unless the process has ended.
    public func signalGroup(_ number: Int32) { end.send(number, to: -id) }

    /// Waits for the end: the exit status, or 128 + the signal that ended it.
    ///
    /// A process that runs until ``WaitLimit`` is killed.
    public func status() async -> Int32 { await killingLate { await end.wait() } }

    /// Runs a wait; kills the process and what it started at ``WaitLimit``, which ends every wait for it.
    private func killingLate<Result>(_ wait: () async -> Result) async -> Result {
        await WaitLimit.apply(expire: { [weak self] in self?.signalGroup(SIGKILL) }, to: wait)
    }
}

/// Adds each line of a pipe to `lines` until the pipe ends, and takes ownership of its descriptor.
private func readLines(of raw: Int32, into lines: EventCollector<String>) {
    let descriptor = Descriptor(owning: raw)
    var partial: [UInt8] = []
    // A read error ends the output.
    while (try? descriptor.read(onto: &partial, maximumBytes: 65536)) ?? 0 > 0 {
        while let feed = partial.firstIndex(of: 0x0A) {
            lines.append(String(decoding: partial[..<feed], as: UTF8.self))
            partial.removeFirst(feed + 1)
        }
    }
    if !partial.isEmpty { lines.append(String(decoding: partial, as: UTF8.self)) }
    lines.finish()
}

/// The end of a process.
private final class End: Sendable {
    private let id: pid_t
    private let isReaped = Mutex(false)
    private let statuses = EventCollector<Int32>()

    init(_ id: pid_t) { self.id = id }

    func wait() async -> Int32 { await statuses.firstUntilFinish { _ in true } ?? -1 }

    var hasEnded: Bool { isReaped.withLock { $0 } }

    /// Sends a signal unless the process has ended.
    func send(_ number: Int32, to target: pid_t) {
        // The id stays valid until the process is reaped, which happens under the same lock.
        isReaped.withLock { if !$0 { kill(target, number) } }
    }

    /// Reaps the process as soon as it ends, whether or not the test waits for it.
    ///
    /// Swift Testing waits for the children of its exit tests with `waitid(P_ALL)`, which would keep finding
    /// an unreaped child instead.
    func reap() {
        var information = siginfo_t()
        while waitid(P_PID, id_t(id), &information, WEXITED | WNOWAIT) < 0, errno == EINTR {}
        let status = isReaped.withLock { isReaped in
            var status: Int32 = 0
            while waitpid(id, &status, 0) < 0, errno == EINTR {}
            isReaped = true
            return status
        }
        statuses.append(status & 0x7F == 0 ? (status >> 8) & 0xFF : 128 + (status & 0x7F))
    }
}

/// The folder of the build that the tests belong to, where its executables are.
public var buildDirectory: String {
    var path = [CChar](repeating: 0, count: 4096)
    let count = readlink("/proc/self/exe", &path, path.count)
    let bytes = path.prefix(max(0, count)).map(UInt8.init(truncatingIfNeeded:))
    let executable = String(decoding: bytes, as: UTF8.self)
    return String(executable[..<(executable.lastIndex(of: "/") ?? executable.startIndex)])
}

private func withCStrings<Result>(
    _ strings: [String], _ body: ([UnsafeMutablePointer<CChar>?]) -> Result
) -> Result {
    let copies = strings.map { strdup($0) }
    defer { for copy in copies { free(copy) } }
    return body(copies + [nil])
}
