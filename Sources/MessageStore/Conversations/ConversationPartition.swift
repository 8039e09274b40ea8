import BalloonPOSIX
import Synchronization

/// The files of one part of the conversations; no other part waits for it.
///
/// What is appended and read here waits for the files of this partition only, and never for a sync.
final class ConversationPartition: Sendable {
    /// Runs what is done to this partition's conversations, one after the other: the `record` stage of their messages.
    ///
    /// No work on it may wait for a sync, a download, a handler or the gateway.
    let executor: QueueExecutor
    private let pool: Mutex<ConversationPool>
    /// How many conversations wait to be rebuilt.
    private let quarantines: Atomic<Int>
    /// Those whose files refused their latest line.
    private let refused = Mutex<Set<ConversationKey>>([])
    private let refusals = Atomic(0)

    init(_ pool: ConversationPool, place: Int) {
        quarantines = Atomic(pool.quarantine.paths.count)
        self.pool = Mutex(pool)
        executor = QueueExecutor(label: "balloon.conversations.\(place)")
    }

    /// Appends a line and returns when the system has it, unless it `mightBeThere` and is; syncs nothing.
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

    /// The last lines of a conversation, oldest first; no more than have `maximumBytes` together, but always the last.
    func lines(
        of key: ConversationKey, maximum: Int, maximumBytes: Int
    ) throws(StoreError) -> [ConversationLine] {
        let end = try withPool { pool throws(StoreError) in try pool.end(of: key) }
        // Read outside of the lock, and once more within it only when that quarantines the conversation.
        do throws(StoreError) {
            return try end?.lines(maximum: maximum, maximumBytes: maximumBytes) ?? []
        } catch {
            return try withPool { pool throws(StoreError) in try pool.lines(of: key, maximum: maximum) }
        }
    }

    /// Gives a conversation the lines that it must have and may not show.
    ///
    /// After a failed sync (`isSynced` is false) it gets a new file, since what the old one shows need not be on disk; callers
    /// that append or read meanwhile do not wait for the new file's sync. Throws
    /// ``StoreError/quarantinedConversation(file:)`` when more is missing then, or the file cannot be read.
    func reconcile(
        _ key: ConversationKey, with entries: [ConversationEntry], isSynced: Bool
    ) throws(StoreError) {
        try reconcile(withUnsynced { $0.name(of: key) }, with: entries, isSynced: isSynced)
    }

    /// The same, by the name of its file.
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

    /// Writes a conversation that is quarantined anew, from what is good in its file and what is missing there.
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

    /// Throws ``StoreError/quarantinedConversation(file:)`` when the conversation waits to be rebuilt.
    func checkIntact(_ key: ConversationKey) throws(StoreError) {
        if quarantinedCount == 0 { return }
        try withPool { pool throws(StoreError) in try pool.quarantine.check(ConversationPath.file(key)) }
    }

    /// Records that every conversation could be written, or was quarantined.
    func forgetRefused() { if refusedCount > 0 { changeRefused { $0 = [] } } }

    /// How many conversations' files refused their latest line, when that is not the whole disk's trouble; never waits.
    var refusedCount: Int { refusals.load(ordering: .relaxed) }

    private func changeRefused(_ change: (inout Set<ConversationKey>) -> Void) {
        refused.withLock { refused in
            change(&refused)
            refusals.store(refused.count, ordering: .relaxed)
        }
    }

    /// The conversations that wait to be rebuilt, as paths below the folder of all conversations.
    var quarantined: Set<String> { pool.withLock { $0.quarantine.paths } }

    /// How many they are; never waits.
    var quarantinedCount: Int { quarantines.load(ordering: .relaxed) }

    /// Refuses every later call.
    func close() { pool.withLock { $0.close() } }

    /// Runs `body` on what is not synced; for short steps that do not touch the disk.
    func withUnsynced<Result: Sendable>(_ body: (inout ConversationPool) -> Result) -> Result {
        pool.withLock { body(&$0) }
    }

    /// Runs `body` at once, on the caller's thread, which may wait for the partition's files.
    func withPool<Result: Sendable>(
        _ body: (inout ConversationPool) throws(StoreError) -> Result
    ) throws(StoreError) -> Result {
        try pool.withLock { pool throws(StoreError) in
            defer { quarantines.store(pool.quarantine.paths.count, ordering: .relaxed) }
            return try body(&pool)
        }
    }
}
