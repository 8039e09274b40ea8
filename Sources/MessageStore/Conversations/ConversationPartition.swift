import BalloonPOSIX
import Synchronization

/// The files of one partition of the conversations, independent of other partitions.
///
/// Appending and reading wait only for files of this partition, and never for a sync.
final class ConversationPartition: Sendable {
    /// Runs the `record` stage of this partition's messages, in sequence.
    ///
    /// Its work must not wait for a sync, a download, a handler or the gateway. All partitions share their threads:
    /// one thread while it keeps up, more when a file blocks it.
    let executor: BlockingTaskExecutor
    private let pool: Mutex<ConversationPool>
    /// The number of quarantined conversations.
    private let quarantines: Atomic<Int>
    /// The conversations whose files refused their latest line.
    private let refused = Mutex<Set<ConversationKey>>([])
    private let refusals = Atomic(0)

    init(_ pool: ConversationPool, on threads: SharedThreads) {
        quarantines = Atomic(pool.quarantine.paths.count)
        self.pool = Mutex(pool)
        executor = BlockingTaskExecutor(on: threads)
    }

    /// Appends a line and returns when the operating system has it; with `mightBeThere`, skips an existing line.
    ///
    /// Syncs nothing.
    func append(_ entry: ConversationEntry, mightBeThere: Bool) throws(StoreError) {
        do throws(StoreError) {
            _ = try withPool { pool throws(StoreError) in try pool.append(entry, mightBeThere: mightBeThere) }
            if refusedCount > 0 { changeRefused { $0.remove(entry.conversation) } }
        } catch {
            if case .unavailable(_, let reason) = error, !reason.isDiskWide {
                changeRefused { $0.insert(entry.conversation) }
            }
            throw error
        }
    }

    /// The last lines of a conversation, oldest first; at most `maximumBytes` in total, but always the last
    /// line.
    func lines(
        of key: ConversationKey, maximum: Int, maximumBytes: Int
    ) throws(StoreError) -> [ConversationLine] {
        let end = try withPool { pool throws(StoreError) in try pool.end(of: key) }
        // Read without the lock. After an error, read again with the lock, so that a damaged conversation is
        // quarantined.
        do throws(StoreError) {
            return try end?.lines(maximum: maximum, maximumBytes: maximumBytes) ?? []
        } catch {
            return try withPool { pool throws(StoreError) in try pool.lines(of: key, maximum: maximum) }
        }
    }

    /// Adds the expected lines that a conversation's file may lack.
    ///
    /// After a failed sync (`isSynced` is false) the conversation gets a new file, since the old one's
    /// content may not be on disk. Callers that append or read meanwhile do not wait for the new file's sync.
    /// Throws ``StoreError/quarantinedConversation(file:)`` when other lines are missing, or the file is
    /// unreadable.
    func reconcile(
        _ key: ConversationKey, with entries: [ConversationEntry], isSynced: Bool
    ) throws(StoreError) {
        try reconcile(withUnsynced { $0.name(of: key) }, with: entries, isSynced: isSynced)
    }

    /// Adds the expected lines that the file of this name may lack.
    func reconcile(
        _ name: ConversationName, with entries: [ConversationEntry], isSynced: Bool
    ) throws(StoreError) {
        if isSynced {
            return try withPool { pool throws(StoreError) in try pool.complete(name, with: entries) }
        }
        let replacement = try withPool { pool throws(StoreError) in
            try pool.beginReplacing(name, adding: entries)
        }
        guard let replacement else { return }
        let file: AtomicFile.Replacement
        do throws(SystemError) {
            file = try AtomicFile.Replacement(of: replacement.path, with: replacement.repair.bytes)
        } catch {
            throw .unavailable(path: replacement.path, error)
        }
        try withPool { pool throws(StoreError) in try pool.install(file, of: replacement) }
    }

    /// Rewrites a quarantined conversation from the intact lines of its file and the missing lines.
    func rebuild(
        _ path: String, in directory: String, adding entries: [ConversationEntry]
    ) throws(StoreError) -> ConversationRepair {
        let (quarantine, waiting) = try withPool { pool throws(StoreError) in
            (pool.quarantine, try pool.waitingEntries(of: path))
        }
        let repair = try quarantine.rebuild(path, in: directory, adding: entries + waiting)
        try withPool { pool throws(StoreError) in try pool.endQuarantine(of: path, repair) }
        return repair
    }

    /// Throws ``StoreError/quarantinedConversation(file:)`` when the conversation is quarantined.
    func checkIntact(_ key: ConversationKey) throws(StoreError) {
        if quarantinedCount == 0 { return }
        try withPool { pool throws(StoreError) in try pool.quarantine.check(ConversationPath.file(key)) }
    }

    /// Clears the list of conversations whose files refused lines: each was written or quarantined since.
    func forgetRefused() { if refusedCount > 0 { changeRefused { $0 = [] } } }

    /// The number of conversations whose file refused their latest line for a reason other than the whole
    /// disk; never blocks.
    var refusedCount: Int { refusals.load(ordering: .relaxed) }

    private func changeRefused(_ change: (inout Set<ConversationKey>) -> Void) {
        refused.withLock { refused in
            change(&refused)
            refusals.store(refused.count, ordering: .relaxed)
        }
    }

    /// The quarantined conversations, as paths below the folder of all conversations.
    var quarantined: Set<String> { pool.withLock { $0.quarantine.paths } }

    /// The number of quarantined conversations; never blocks.
    var quarantinedCount: Int { quarantines.load(ordering: .relaxed) }

    /// Closes the files; every later call throws ``StoreError/closed``.
    func close() { pool.withLock { $0.close() } }

    /// Runs `body` on the pool; for short steps without disk access, such as changes of the unsynced files.
    func withUnsynced<Result: Sendable>(_ body: (inout ConversationPool) -> Result) -> Result {
        pool.withLock { body(&$0) }
    }

    /// Runs `body` at once on the caller's thread, which may wait for the partition's files.
    func withPool<Result: Sendable>(
        _ body: (inout ConversationPool) throws(StoreError) -> Result
    ) throws(StoreError) -> Result {
        try pool.withLock { pool throws(StoreError) in
            defer { quarantines.store(pool.quarantine.paths.count, ordering: .relaxed) }
            return try body(&pool)
        }
    }
}
