import BalloonPOSIX
import Dispatch
import Synchronization

/// Syncs conversations at a limited rate, on its own queue and without holding a lock.
///
/// Each file stays open during its sync. Callers that append or read at the same time do not wait for the
/// sync.
final class ConversationSyncer: Sendable {
    /// The result of a round.
    enum Round: Sendable {
        /// There was nothing to sync.
        case empty
        /// Everything written before the round is on disk.
        case done
        /// ``stop()`` ended the round early.
        case stopped
    }

    private let partitions: ConversationPartitions
    private let directory: String
    private let disk: any StoreDisk
    private let maximumPerSecond: Int
    private let lastRecord: @Sendable () -> UInt64
    private let queue = DispatchQueue(label: "balloon.conversations.syncs")
    private let pauses = CancellableSleep()
    private let isStopped = Atomic(false)
    /// The number of files above which one sync of the whole file system is cheaper than a sync of each.
    private static let maximumSingleSyncs = 64

    /// Creates a syncer; `lastRecord` returns the journal's last record, which shows whether messages arrive.
    init(
        _ partitions: ConversationPartitions, directory: DataDirectory, _ configuration: StoreConfiguration,
        lastRecord: @escaping @Sendable () -> UInt64
    ) {
        self.partitions = partitions
        self.directory = directory.conversations
        disk = configuration.disk
        maximumPerSecond = configuration.maximumConversationSyncsPerSecond
        self.lastRecord = lastRecord
    }

    /// Ends a running round at its next pause.
    func stop() {
        isStopped.store(true, ordering: .relaxed)
        pauses.end()
    }

    /// Runs the last round, after all writes, without pauses.
    ///
    /// Many files are synced by one sync of the whole file system, or by one wait of each partition for their ``DurableCopy``.
    func finish() async throws -> Round {
        let count = partitions.all.reduce(0) { $0 + $1.withPool { $0.unsynced.count } }
        guard count > Self.maximumSingleSyncs, DurableCopies.of(directory + "/.") == nil else {
            return try await run(isPaced: false)
        }
        for partition in partitions.all { partition.withPool { $0.unsynced.beginRound() } }
        return try await cancellingRound {
            try await queue.run { () throws(StoreError) in
                try StoreError.naming(self.directory) { () throws(SystemError) in
                    try self.disk.synchronizeFileSystem(of: self.directory)
                }
            }
            for partition in partitions.all { partition.withPool { $0.unsynced.endRound() } }
            return .done
        }
    }

    /// Syncs each file written so far once, then the folders with new names.
    ///
    /// Only one round may run at a time. Throws a ``StoreError``; files that are not synced move to the next
    /// round.
    func run(isPaced: Bool = true) async throws -> Round {
        guard partitions.hasUnsynced else { return .empty }
        var pace = SyncPace(maximumPerSecond: maximumPerSecond, lastRecord: lastRecord(), at: .now)
        for partition in partitions.all { partition.withPool { $0.unsynced.beginRound() } }
        return try await cancellingRound {
            for partition in partitions.all {
                while true {
                    let files = partition.withPool { [pace] in
                        $0.nextSyncs(maximum: isPaced ? pace.batch : .max)
                    }
                    if files.isEmpty { break }
                    try await queue.run { () throws(StoreError) in
                        var found: [ConversationSync] = []
                        for file in files {
                            if file.file != nil || Directory.exists(file.path) {
                                found.append(file)
                            } else {
                                // The copy would take it for a removed one.
                                try self.synchronize(file, of: partition)
                            }
                        }
                        let isKept = try StoreError.naming(self.directory) { () throws(SystemError) in
                            try DurableCopies.synchronize(found.map(\.path))
                        }
                        if !isKept { for file in found { try self.synchronize(file, of: partition) } }
                    }
                    let pause = pace.pause(behind: files.count, lastRecord: lastRecord(), at: .now)
                    if isPaced, await !wait(pause) { return .stopped }
                }
            }
            // Sync the folders of all partitions after the files: quarantining a file creates names in
            // further folders.
            for partition in partitions.all {
                let folders = partition.withPool { $0.unsynced.takeFolders() }
                try await queue.run { () throws(StoreError) in try self.synchronize(folders) }
                partition.withPool { $0.unsynced.endRound() }
            }
            return .done
        }
    }

    /// Runs `body`; after an error or a stop, files that are not synced move to the next round.
    private func cancellingRound(_ body: () async throws -> Round) async throws -> Round {
        var isComplete = false
        defer {
            if !isComplete {
                for partition in partitions.all { partition.withPool { $0.unsynced.cancelRound() } }
            }
        }
        let round = try await body()
        isComplete = if case .stopped = round { false } else { true }
        return round
    }

    private func wait(_ pause: Duration) async -> Bool {
        if isStopped.load(ordering: .relaxed) { return false }
        return pause > .zero ? await pauses.pause(for: pause) : true
    }

    private func synchronize(
        _ sync: ConversationSync, of partition: ConversationPartition
    ) throws(StoreError) {
        do throws(SystemError) {
            let file = if let open = sync.file { open } else { try disk.openExisting(sync.path) }
            try disk.synchronize(file)
        } catch {
            // A file that was quarantined or replaced meanwhile no longer waits for a sync.
            if error.isMissing, !partition.withPool({ $0.unsynced.inFlight.contains(sync.name) }) {
                return
            }
            throw .unavailable(path: sync.path, error)
        }
    }

    private func synchronize(_ folders: Set<String>) throws(StoreError) {
        for folder in folders.sorted() {
            try StoreError.naming(folder) { () throws(SystemError) in try disk.synchronizeDirectory(folder) }
        }
    }
}

/// A conversation's file to be synced.
struct ConversationSync: Sendable {
    let name: ConversationName
    let path: String
    /// The file if the store has it open, otherwise nil.
    let file: File?
}
