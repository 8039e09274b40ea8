import Glibc
import Synchronization
import TestSupport

/// A server in a process of its own, to be killed.
package final class ServerProcess: Sendable {
    private let process: ChildProcess
    private let bound = Mutex<String?>(nil)

    /// Starts this program of the build, with the test's environment unless another is given.
    package init(program: String, arguments: [String], environment: [String: String]? = nil) throws {
        process = try ChildProcess(buildDirectory + "/" + program, arguments, environment: environment)
    }

    /// The address, as `HOST:PORT`; nil before ``waitForListening()`` has returned.
    package var address: String? { bound.withLock { $0 } }

    /// Waits for the log line that names the address.
    package func waitForListening() async throws {
        let line = try await process.line { $0.contains("listening") }
        let address = line.split(separator: " ").first { $0.hasPrefix("address=") }?.dropFirst(
            "address=".count)
        bound.withLock { $0 = address.map(String.init) }
    }

    /// Waits for the log line that names the address of the admin listener; returns `HOST:PORT`.
    package func adminAddress() async throws -> String? {
        let line = try await process.line { $0.contains("admin listener started") }
        return line.split(separator: " ").first { $0.hasPrefix("address=") }
            .map { String($0.dropFirst("address=".count)) }
    }

    /// Waits for a line of output, past or future; throws when the process ends without one.
    package func waitForLine(_ wanted: @escaping @Sendable (String) -> Bool) async throws {
        try await process.line(where: wanted)
    }

    /// Sends a signal.
    package func signal(_ number: Int32) { process.signal(number) }

    /// Kills the process, and returns when its locks are released.
    package func kill() async {
        process.signal(SIGKILL)
        _ = await process.status()
    }

    /// Sends SIGTERM, and SIGKILL once `isMoment` holds, unless the process has ended by then.
    package func kill(whileStopping isMoment: @Sendable () -> Bool) async {
        process.signal(SIGTERM)
        while !isMoment(), !process.hasEnded { await Task.yield() }
        await kill()
    }

    /// Waits for the process's end: its exit status, or 128 + the signal that ended it.
    package func status() async -> Int32 { await process.status() }

    /// Sends SIGTERM, waits for the process's end, and returns its exit status.
    package func terminate() async -> Int32 {
        process.signal(SIGTERM)
        return await process.status()
    }
}
