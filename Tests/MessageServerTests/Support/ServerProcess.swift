import Glibc
import Synchronization
import TestSupport

/// `CrashTestServer` as a separate process, to be killed.
final class ServerProcess: Sendable {
    private let process: ChildProcess
    private let bound = Mutex<String?>(nil)

    init(arguments: [String]) throws {
        process = try ChildProcess(buildDirectory + "/CrashTestServer", arguments)
    }

    /// `HOST:PORT`, after it listens.
    var address: String? { bound.withLock { $0 } }

    func waitForListening() async throws {
        let line = try await process.line { $0.contains("listening") }
        let address = line.split(separator: " ").first { $0.hasPrefix("address=") }?.dropFirst(
            "address=".count)
        bound.withLock { $0 = address.map(String.init) }
    }

    func waitForLine(_ wanted: @escaping @Sendable (String) -> Bool) async throws {
        try await process.line(where: wanted)
    }

    /// Kills the process, and returns when its locks are released.
    func kill() async {
        process.signal(SIGKILL)
        _ = await process.status()
    }

    /// Asks the process to stop, and ends it without a word at the moment, unless it has ended by then.
    func kill(whileStopping isMoment: @Sendable () -> Bool) async {
        process.signal(SIGTERM)
        while !isMoment(), !process.hasEnded { await Task.yield() }
        await kill()
    }

    /// Waits for the process's end: its exit status, or 128 + the signal that ended it.
    func status() async -> Int32 { await process.status() }

    func terminate() async throws -> Int32 {
        process.signal(SIGTERM)
        return await process.status()
    }
}
