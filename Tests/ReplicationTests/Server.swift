import BalloonPOSIX
import BalloonWire
import Logging
import TestSupport

@testable import Replication

/// A server's directory, without the server.
final class Server: Sendable {
    /// Longer than a test.
    static let lease = Duration.seconds(600)
    private let directory: TemporaryDirectory
    private let lost = Shared(false)
    /// The time since some moment, which a test turns.
    private let clock = Shared(Duration.zero)
    let replica: Replica
    private let cluster: Cluster

    convenience init(
        _ cluster: Cluster, _ key: SealingKey? = nil, patience: Duration = .seconds(60)
    ) throws {
        try self.init(
            cluster, TemporaryDirectory(), ReplicaSettings(url: cluster.url, sealingKey: key),
            patience: patience)
    }

    private init(
        _ cluster: Cluster, _ directory: TemporaryDirectory, _ settings: ReplicaSettings,
        patience: Duration = .seconds(60)
    ) throws {
        self.cluster = cluster
        self.directory = directory
        var settings = settings
        settings.lease = Self.lease
        settings.patience = patience
        replica = try Replica(
            settings, directory: directory.path, logger: LogCollector().logger,
            lost: { [lost] in lost.value = true },
            now: { [clock] in clock.value })
    }

    /// Lets time pass for this server.
    func pass(_ time: Duration) { clock.value += time }

    /// A new process on the same directory.
    func again(_ settings: ReplicaSettings? = nil) throws -> Server {
        try Server(cluster, directory, settings ?? ReplicaSettings(url: cluster.url))
    }

    var root: String { directory.path }
    var isLost: Bool { lost.value }
    func path(_ name: String) -> String { directory.file(name) }
    /// A database on a busy machine may not answer in time; then a server looks again, too.
    func step() async throws -> OwnedStore? {
        for _ in 1...20 {
            do { return try await replica.step() } catch ReplicaError.unreachable { continue }
        }
        return try await replica.step()
    }

    /// The kept files.
    func content() throws -> [String: [UInt8]] {
        var content: [String: [UInt8]] = [:]
        let files = KeptFiles(root: root)
        try files.forEach { path, _ in content[path] = try File(files.absolute(path), for: .reading).readAll()
        }
        return content
    }

    /// Changes one of a few files, as the store does.
    func change(_ random: inout SeededGenerator) throws {
        let folder = path("folder\(Int.random(in: 0..<3, using: &random))")
        try Directory.make(folder)
        let file = folder + "/\(Int.random(in: 0..<4, using: &random))"
        let bytes = (0..<Int.random(in: 0..<3000, using: &random)).map { _ in
            UInt8.random(in: 0...255, using: &random)
        }
        switch Int.random(in: 0..<10, using: &random) {
        case 0: try AtomicFile.write(bytes, to: file)
        case 1: try SystemError.unlessMissing { () throws(SystemError) in try Directory.remove(file) }
        case 2:
            try SystemError.unlessMissing { () throws(SystemError) in
                try Directory.rename(file, to: file + "x")
            }
        case 3:
            let open = try File(file, for: .appending)
            try open.truncate(to: open.sizeBytes() / 2)
            try open.append(bytes)
        case 4: try AtomicFile.write(repeatingBytes(2_500_000, period: 251), to: file)
        case 5: try File(file, for: .appending).append(repeatingBytes(300_000, period: 251))
        default: try File(file, for: .appending).append(bytes)
        }
    }

    /// Syncs every file, as a store does before it counts on them.
    func synchronizeAll() throws {
        let files = KeptFiles(root: root)
        try files.forEach { path, _ in try File(files.absolute(path), for: .reading).synchronizeData() }
        for folder in 0..<3 where Directory.exists(path("folder\(folder)")) {
            try Directory.synchronize(path("folder\(folder)"))
        }
    }
}
