import CLinux
package import Dispatch
import Glibc
import Synchronization

/// A child process in its own process group, whose end is detected without a waiting thread.
///
/// The child inherits only its three standard descriptors, and neither a signal mask nor ignored signals.
/// Only this type reaps the child, so the process id stays valid until ``Exit`` is reported.
package final class SpawnedProcess: Sendable {
    /// The reason for a process's end.
    package enum Exit: Hashable, Sendable {
        /// The process exited with this status.
        case status(Int32)
        /// This signal ended the process.
        case signal(Int32)
    }

    /// A program with its arguments, environment and directory.
    package struct Program: Sendable {
        /// The path or name, and the arguments; a name without a slash is searched in `PATH`.
        package var command: [String]
        /// The complete environment; the child inherits no other variable.
        package var environment: [String: String]
        /// The working directory; a relative path in `command` starts there.
        package var directory: String

        /// Creates a program.
        package init(_ command: [String], environment: [String: String], directory: String) {
            self.command = command
            self.environment = environment
            self.directory = directory
        }
    }

    /// This process's ends of the child's three pipes; they are open and non-blocking, and the caller must
    /// close them.
    package typealias Streams = (input: Int32, output: Int32, error: Int32)

    /// The process id, also that of its group.
    package let id: Int32

    private init(id: Int32) { self.id = id }

    /// Starts `program`.
    ///
    /// After the process has ended, its group is killed, and `onExit` is called once on `queue`.
    package static func start(
        _ program: Program, queue: DispatchQueue, loop: DescriptorLoop,
        onExit: @escaping @Sendable (Exit) -> Void
    ) throws(SystemError) -> (SpawnedProcess, Streams) {
        _ = ignoresBrokenPipes
        let input = try Pipe()
        let output = try Pipe()
        let error = try Pipe()
        let id = try spawn(program, input.read.raw, output.write.raw, error.write.raw)
        do throws(SystemError) {
            let watch = OwnedDescriptor(owning: try uninterrupted("pidfd_open") { pidfd_open(id, 0) })
            _ = try loop.wait(for: watch.raw, .readable, on: queue) {
                // Kill the group before reaping: as long as the process is a zombie, the id of its group
                // cannot be reused.
                kill(-id, SIGKILL)
                withExtendedLifetime(watch) { onExit(reap(id)) }
            }
        } catch {
            kill(-id, SIGKILL)
            _ = reap(id)
            throw error
        }
        let process = SpawnedProcess(id: id)
        // Keep one end of each pipe; this closes the child's end in this process.
        let ends = (input: input.keepWrite(), output: output.keepRead(), error: error.keepRead())
        for end in [ends.input, ends.output, ends.error] { _ = fcntl(end, F_SETFL, O_NONBLOCK) }
        return (process, ends)
    }

    /// Sends a signal to the whole group; must not be called after ``Exit`` was reported.
    package func signalGroup(_ number: Int32) { kill(-id, number) }

    /// The setting that ignores SIGPIPE, made once at the first access.
    ///
    /// Writing to a child that has ended then fails with an error and does not end our process.
    private static let ignoresBrokenPipes: Void = { _ = signal(SIGPIPE, SIG_IGN) }()

    private static func reap(_ id: Int32) -> Exit {
        var status: Int32 = 0
        // `waitpid` fails only when a signal interrupts it: the process is our child, and only this code
        // waits for it.
        while unsafe waitpid(id, &status, 0) < 0, errno == EINTR {}
        return status & 0x7F == 0 ? .status((status >> 8) & 0xFF) : .signal(status & 0x7F)
    }

    private static func spawn(
        _ program: Program, _ input: Int32, _ output: Int32, _ error: Int32
    ) throws(SystemError) -> Int32 {
        guard let file = program.command.first, !file.isEmpty else {
            throw SystemError("posix_spawn", code: ENOENT)
        }
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        for (end, number) in [(input, 0), (output, 1), (error, 2)] as [(Int32, Int32)] {
            unsafe posix_spawn_file_actions_adddup2(&actions, end, number)
        }
        unsafe posix_spawn_file_actions_addclosefrom_np(&actions, 3)
        unsafe posix_spawn_file_actions_addchdir_np(&actions, program.directory)
        var attributes = posix_spawnattr_t()
        unsafe posix_spawnattr_init(&attributes)
        defer { unsafe posix_spawnattr_destroy(&attributes) }
        var signals = sigset_t()
        unsafe sigfillset(&signals)
        unsafe posix_spawnattr_setsigdefault(&attributes, &signals)
        unsafe sigemptyset(&signals)
        unsafe posix_spawnattr_setsigmask(&attributes, &signals)
        let flags = POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK
        unsafe posix_spawnattr_setflags(&attributes, Int16(flags))
        let variables = program.environment.map { "\($0.key)=\($0.value)" }.sorted()
        var id: pid_t = 0
        // Sound: the texts and both null-terminated arrays live during the call.
        let status = unsafe withCStrings(program.command) { arguments in
            unsafe withCStrings(variables) { variables in
                unsafe posix_spawnp(&id, file, &actions, &attributes, arguments, variables)
            }
        }
        guard status == 0 else { throw SystemError("posix_spawn", code: status) }
        return id
    }
}

/// Both ends of a pipe.
private struct Pipe: ~Copyable {
    let read: Descriptor
    let write: Descriptor

    init() throws(SystemError) {
        var ends: [Int32] = [0, 0]
        // Sound: two numbers are written, the size of the array.
        _ = try uninterrupted("pipe2") { unsafe pipe2(&ends, O_CLOEXEC) }
        read = Descriptor(owning: ends[0])
        write = Descriptor(owning: ends[1])
    }

    consuming func keepRead() -> Int32 { read.release() }
    consuming func keepWrite() -> Int32 { write.release() }
}

private func withCStrings<Result>(
    _ strings: [String], _ body: ([UnsafeMutablePointer<CChar>?]) -> Result
) -> Result {
    let copies = unsafe strings.map { unsafe strdup($0) }
    defer { unsafe copies.forEach { unsafe free($0) } }
    return unsafe body(copies + [nil])
}
