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
    private let output = Output()
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
        let own = CommandLine.environment
        let variables = (environment ?? own).map { "\($0)=\($1)" }
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
        DispatchQueue(label: "child.output").async { [output, descriptor = ends[0]] in output.read(descriptor)
        }
        DispatchQueue(label: "child.end").async { [end] in end.reap() }
    }

    deinit { signalGroup(SIGKILL) }

    /// Whether the process has ended.
    public var hasEnded: Bool { end.hasEnded }

    /// Every whole line so far.
    public var lines: [String] { output.lines }

    /// Waits until the output has ended, at most for ``WaitLimit``, and returns every line.
    public func allLines() async -> [String] {
        _ = await killingLate { await output.line { _ in false } }
        return lines
    }

    /// Waits for a line that `wanted` accepts, among the lines so far and later ones, and returns the first.
    ///
    /// Throws when the output ends without such a line; at ``WaitLimit`` the process is killed, which ends
    /// the output.
    @discardableResult
    public func line(where wanted: @escaping @Sendable (String) -> Bool) async throws -> String {
        guard let line = await killingLate({ await output.line(where: wanted) }) else {
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

/// The lines that a process wrote.
private final class Output: Sendable {
    private struct State {
        var lines: [String] = []
        var partial: [UInt8] = []
        var hasEnded = false
        var waiters:
            [(position: Int, wanted: @Sendable (String) -> Bool, resume: @Sendable (String?) -> Void)] = []
    }

    private let state = Mutex(State())

    var lines: [String] { state.withLock { $0.lines } }

    func line(where wanted: @escaping @Sendable (String) -> Bool) async -> String? {
        await withCheckedContinuation { (continuation: CheckedContinuation<String?, Never>) in
            state.withLock { state in
                if let line = state.lines.first(where: wanted) {
                    continuation.resume(returning: line)
                } else if state.hasEnded {
                    continuation.resume(returning: nil)
                } else {
                    state.waiters.append((state.lines.count, wanted, { continuation.resume(returning: $0) }))
                }
            }
        }
    }

    func read(_ descriptor: Int32) {
        var chunk = [UInt8](repeating: 0, count: 65536)
        while true {
            let count = Glibc.read(descriptor, &chunk, chunk.count)
            if count < 0 && errno == EINTR { continue }
            guard count > 0 else { break }
            take(chunk[..<count])
        }
        close(descriptor)
        let waiters = state.withLock { state in
            if !state.partial.isEmpty { state.lines.append(String(decoding: state.partial, as: UTF8.self)) }
            state.hasEnded = true
            let line = state.lines
            defer { state.waiters = [] }
            return state.waiters.map { waiter in
                (waiter.resume, line.dropFirst(waiter.position).first(where: waiter.wanted))
            }
        }
        for (resume, line) in waiters { resume(line) }
    }

    private func take(_ bytes: ArraySlice<UInt8>) {
        let ready = state.withLock { state in
            state.partial += bytes
            while let feed = state.partial.firstIndex(of: 0x0A) {
                state.lines.append(String(decoding: state.partial[..<feed], as: UTF8.self))
                state.partial.removeFirst(feed + 1)
            }
            var ready: [(@Sendable (String?) -> Void, String)] = []
            let lines = state.lines
            state.waiters.removeAll { waiter in
                guard let line = lines.dropFirst(waiter.position).first(where: waiter.wanted) else {
                    return false
                }
                ready.append((waiter.resume, line))
                return true
            }
            return ready
        }
        for (resume, line) in ready { resume(line) }
    }
}

/// The end of a process.
private final class End: Sendable {
    private let id: pid_t
    private let state = Mutex<(status: Int32?, waiters: [CheckedContinuation<Int32, Never>])>((nil, []))

    init(_ id: pid_t) { self.id = id }

    func wait() async -> Int32 {
        await withCheckedContinuation { continuation in
            let status = state.withLock { state -> Int32? in
                if state.status == nil { state.waiters.append(continuation) }
                return state.status
            }
            if let status { continuation.resume(returning: status) }
        }
    }

    var hasEnded: Bool { state.withLock { $0.status != nil } }

    /// Sends a signal unless the process has ended.
    func send(_ number: Int32, to target: pid_t) {
        // The id stays valid until the process is reaped, which happens under the same lock.
        state.withLock { if $0.status == nil { kill(target, number) } }
    }

    /// Reaps the process as soon as it ends, whether or not the test waits for it.
    ///
    /// Swift Testing waits for the children of its exit tests with `waitid(P_ALL)`, which would keep finding
    /// an unreaped child instead.
    func reap() {
        var information = siginfo_t()
        while waitid(P_PID, id_t(id), &information, WEXITED | WNOWAIT) < 0, errno == EINTR {}
        let (code, waiters) = state.withLock { state in
            var status: Int32 = 0
            while waitpid(id, &status, 0) < 0, errno == EINTR {}
            let code = status & 0x7F == 0 ? (status >> 8) & 0xFF : 128 + (status & 0x7F)
            state.status = code
            defer { state.waiters = [] }
            return (code, state.waiters)
        }
        for waiter in waiters { waiter.resume(returning: code) }
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

extension CommandLine {
    /// The environment of the tests' own process.
    fileprivate static var environment: [String: String] {
        var variables: [String: String] = [:]
        var entry = environ
        while let text = entry.pointee {
            let parts = String(cString: text).split(
                separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            if parts.count == 2 { variables[String(parts[0])] = String(parts[1]) }
            entry += 1
        }
        return variables
    }
}

private func withCStrings<Result>(
    _ strings: [String], _ body: ([UnsafeMutablePointer<CChar>?]) -> Result
) -> Result {
    let copies = strings.map { strdup($0) }
    defer { for copy in copies { free(copy) } }
    return body(copies + [nil])
}
