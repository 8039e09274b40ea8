import Dispatch
public import Glibc
import Synchronization

/// A program that a test runs: its output as lines while it runs, and its end.
public final class ChildProcess: Sendable {
    /// What can go wrong with a program.
    public enum Failure: Error {
        /// It could not be started: the `errno`.
        case spawn(Int32)
        /// Its output ended before the line that was waited for; all of it is here.
        case ended(output: [String])
    }

    private struct State {
        var lines: [String] = []
        var partial: [UInt8] = []
        var hasEnded = false
        var waiters:
            [(position: Int, wanted: @Sendable (String) -> Bool, resume: @Sendable (String?) -> Void)] = []
    }

    /// The process's id, also that of its process group.
    public let id: pid_t
    private let state = Mutex(State())
    private let end = Mutex<(status: Int32?, waiters: [CheckedContinuation<Int32, Never>])>((nil, []))

    /// Starts `path`; standard output and standard error come back together, standard input is empty.
    public init(
        _ path: String, _ arguments: [String], environment: [String: String]? = nil, directory: String? = nil
    ) throws {
        var ends: [Int32] = [0, 0]
        // A socket pair, because its close-on-exec is set at once: another test may start a child at any moment.
        let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        guard socketpair(AF_UNIX, type, 0, &ends) == 0 else { throw Failure.spawn(errno) }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_adddup2(&actions, ends[1], 1)
        posix_spawn_file_actions_adddup2(&actions, ends[1], 2)
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETPGROUP))
        let own = CommandLine.environment
        let variables = (environment ?? own).map { "\($0)=\($1)" }
        var process: pid_t = 0
        // env(1) changes the directory, which posix_spawn cannot do portably.
        let command = directory.map { ["/usr/bin/env", "-C", $0, path] } ?? [path]
        let status = withCStrings(command + arguments) { arguments in
            withCStrings(variables) { variables in
                posix_spawn(&process, command[0], &actions, &attributes, arguments, variables)
            }
        }
        close(ends[1])
        guard status == 0 else {
            close(ends[0])
            throw Failure.spawn(status)
        }
        id = process
        let output = ends[0]
        DispatchQueue(label: "child.output").async { self.read(output) }
        DispatchQueue(label: "child.end").async { self.reap() }
    }

    deinit { if end.withLock({ $0.status == nil }) { Glibc.kill(-id, SIGKILL) } }

    /// Whether the process is gone.
    public var hasEnded: Bool { end.withLock { $0.status != nil } }

    /// Every whole line so far.
    public var lines: [String] { state.withLock { $0.lines } }

    /// The first line, past or to come, that is `wanted`; throws when the output ends without it.
    @discardableResult
    public func line(where wanted: @escaping @Sendable (String) -> Bool) async throws -> String {
        let line = await withCheckedContinuation { (continuation: CheckedContinuation<String?, Never>) in
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
        guard let line else { throw Failure.ended(output: lines) }
        return line
    }

    /// Sends a signal to the process alone.
    public func signal(_ number: Int32) { Glibc.kill(id, number) }

    /// Waits for the end: the exit status, or 128 + the signal that ended it.
    public func status() async -> Int32 {
        await withCheckedContinuation { continuation in
            let status = end.withLock { end -> Int32? in
                if end.status == nil { end.waiters.append(continuation) }
                return end.status
            }
            if let status { continuation.resume(returning: status) }
        }
    }

    /// All output, when it has ended.
    public func output() async -> String {
        _ = try? await line { _ in false }
        return lines.joined(separator: "\n")
    }

    private func read(_ descriptor: Int32) {
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

    private func reap() {
        var status: Int32 = 0
        while waitpid(id, &status, 0) < 0, errno == EINTR {}
        let code = status & 0x7F == 0 ? (status >> 8) & 0xFF : 128 + (status & 0x7F)
        let waiters = end.withLock { end in
            end.status = code
            defer { end.waiters = [] }
            return end.waiters
        }
        for waiter in waiters { waiter.resume(returning: code) }
    }
}

/// The folder of the build that the tests belong to, where its executables are.
public var buildDirectory: String {
    var path = [CChar](repeating: 0, count: 4096)
    let count = readlink("/proc/self/exe", &path, path.count)
    let executable = String(decoding: path.prefix(max(0, count)).map(UInt8.init(bitPattern:)), as: UTF8.self)
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
