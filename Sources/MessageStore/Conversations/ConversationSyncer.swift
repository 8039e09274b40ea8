import BalloonPOSIX
import Dispatch
import Synchronization

/// Syncs conversations at a bounded rate, on a queue of its own and within no lock.
///
/// A file is synced through a descriptor that stays open for it; callers that append or read meanwhile do not wait.
final class ConversationSyncer: Sendable {
    /// What a round came to.
    enum Round: Sendable {
        /// There was nothing to sync.
        case empty
        /// Everything that was written before it is on disk.
        case done
        /// It was ended before that, by ``stop()``.
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
    /// From this many files on, one sync of the whole file system is cheaper.
    private static let maximumSingleSyncs = 64

    /// `lastRecord` returns the journal's last record, which tells whether messages come in.
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

    /// Syncs each file that was written until now once, then the folders that have new names; one round at a time.
    ///
    /// Throws a ``StoreError``; what is not synced by then is in the next round.
    func run() async throws -> Round { try await makeRound(isPaced: true) }

    /// Ends a round that runs at its next pause.
    func stop() {
        isStopped.store(true, ordering: .relaxed)
        pauses.end()
    }

    /// Makes the last round, when nothing is written any more: without pauses, and with one sync of the whole file system
    /// for many files.
    func finish() async throws -> Round {
        let count = partitions.all.reduce(0) { $0 + $1.withUnsynced { $0.unsynced.count } }
        guard count > Self.maximumSingleSyncs else { return try await makeRound(isPaced: false) }
        for partition in partitions.all { partition.withUnsynced { $0.beginRound() } }
        return try await cancellingRound {
            try await onQueue { () throws(StoreError) in
                do throws(SystemError) { try self.disk.synchronizeFileSystem(of: self.directory) } catch {
                    throw .unavailable(path: self.directory, error)
                }
            }
            for partition in partitions.all { partition.withUnsynced { $0.endRound() } }
            return .done
        }
    }

    private func makeRound(isPaced: Bool) async throws -> Round {
        guard partitions.hasUnsynced else { return .empty }
        var pace = SyncPace(maximumPerSecond: maximumPerSecond, lastRecord: lastRecord(), at: .now)
        for partition in partitions.all { partition.withUnsynced { $0.beginRound() } }
        return try await cancellingRound {
            for partition in partitions.all {
                while true {
                    let files = partition.withUnsynced { [pace] in $0.nextSyncs(maximum: pace.batch) }
                    if files.isEmpty { break }
                    try await onQueue { () throws(StoreError) in
                        for file in files { try self.synchronize(file, of: partition) }
                    }
                    let pause = pace.pause(behind: files.count, lastRecord: lastRecord(), at: .now)
                    if isPaced, await !wait(pause) { return .stopped }
                }
            }
            // Behind the files: one that was quarantined instead of being synced has new names as well.
            for partition in partitions.all {
                let folders = partition.withUnsynced { $0.takeFolders() }
                try await onQueue { () throws(StoreError) in try self.synchronize(folders) }
                partition.withUnsynced { $0.endRound() }
            }
            return .done
        }
    }

    /// Runs `body`; what it has not synced is in the next round.
    private func cancellingRound(_ body: () async throws -> Round) async throws -> Round {
        let round: Round
        do { round = try await body() } catch {
            for partition in partitions.all { partition.withUnsynced { $0.cancelRound() } }
            throw error
        }
        if case .stopped = round {
            for partition in partitions.all { partition.withUnsynced { $0.cancelRound() } }
        }
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
            if error.isMissing, !partition.withUnsynced({ $0.awaitsSync(sync.path) }) { return }
            throw .unavailable(path: sync.path, error)
        }
    }

    private func synchronize(_ folders: Set<String>) throws(StoreError) {
        for folder in folders.sorted() {
            do throws(SystemError) { try disk.synchronizeDirectory(folder) } catch {
                throw .unavailable(path: folder, error)
            }
        }
    }

    private func onQueue(_ body: @escaping @Sendable () throws(StoreError) -> Void) async throws {
        try await withCheckedThrowingContinuation { continuation in
            queue.async {
                do throws(StoreError) {
                    try body()
                    continuation.resume()
                } catch {
                    continuation.resume(throwing: error)
                }
            }
        }
    }
}

/// A file of a conversation that is to be synced.
struct ConversationSync: Sendable {
    let path: String
    /// Nil for one that is closed.
    let file: File?
}
