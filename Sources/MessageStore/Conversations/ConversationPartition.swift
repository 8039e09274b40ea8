import BalloonPOSIX
import Synchronization

/// The files of one partition of the conversations; no partition waits for another.
///
/// Appending and reading wait only for files of this partition, and never for a sync.
final class ConversationPartition: Sendable {
    /// Runs the `record` stage of this partition's messages, one message after another.
    ///
    /// That work must not wait for a sync, a download, a handler or the gateway. All partitions share their
    /// threads: usually one thread, and more when a file access blocks it.
    let executor: BlockingTaskExecutor
    private let pool: Mutex<ConversationPool>
    /// The number of quarantined conversations.
    private let quarantines: Atomic<Int>
    /// The number of conversations whose latest line could not be written.
    private let refusals = Atomic(0)
    /// How many new files are written for a conversation whose old file is replaced each time meanwhile.
    private static let maximumReplacements = 8

    init(_ pool: ConversationPool, on threads: SharedThreads) {
        quarantines = Atomic(pool.quarantine.paths.count)
        self.pool = Mutex(pool)
        executor = BlockingTaskExecutor(on: threads)
    }

    /// Appends a line with a write and no sync; with `mightBeThere`, skips a line that the file already has.
    func append(_ entry: ConversationEntry, mightBeThere: Bool) throws(StoreError) {
        try withPool { pool throws(StoreError) in
            do throws(StoreError) {
                try pool.append(entry, mightBeThere: mightBeThere)
                if !pool.refused.isEmpty { pool.refused.remove(entry.conversation) }
            } catch {
                if case .unavailable(_, let reason) = error, !reason.isDiskWide {
                    pool.refused.insert(entry.conversation)
                }
                throw error
            }
        }
    }

    /// Returns the last lines of a conversation, oldest first; at most `maximumBytes` in total.
    ///
    /// The last line is always returned, however long it is.
    func lines(
        of key: ConversationKey, maximum: Int, maximumBytes: Int
    ) throws(StoreError) -> [ConversationLine] {
        let end = try withPool { pool throws(StoreError) in try pool.end(of: key) }
        // Read without the lock. After an error, read again with the lock, because only that quarantines a
        // damaged conversation.
        do throws(StoreError) {
            return try end?.lines(maximum: maximum, maximumBytes: maximumBytes) ?? []
        } catch {
            return try withPool { pool throws(StoreError) in try pool.lines(of: key, maximum: maximum) }
        }
    }

    /// Adds those of the expected lines that the file of this name lacks.
    ///
    /// After a failed sync (`isSynced` is false) the conversation gets a new file, because the content of the
    /// old one may not be on disk. Callers that append or read at the same time do not wait for the sync of
    /// the new file. Throws ``StoreError/quarantinedConversation(file:)`` when lines besides `entries` are
    /// missing, or the file is unreadable.
    func reconcile(
        _ name: ConversationName, with entries: [ConversationEntry], isSynced: Bool
    ) throws(StoreError) {
        if isSynced {
            return try withPool { pool throws(StoreError) in try pool.complete(name, with: entries) }
        }
        for _ in 1...Self.maximumReplacements {
            let replacement = try withPool { pool throws(StoreError) in
                try pool.beginReplacing(name, adding: entries)
            }
            guard let replacement else { return }
            if try install(replacement) { return }
        }
        throw .filesChanging
    }

    /// Writes and syncs the new file without the pool's lock, so that no other conversation waits, and then
    /// replaces the old file; see ``ConversationPool/install(_:of:)``.
    func install(_ replacement: ConversationReplacement) throws(StoreError) -> Bool {
        let file = try StoreError.naming(replacement.path) { () throws(SystemError) in
            try AtomicFile.Replacement(of: replacement.path, with: replacement.repair.bytes)
        }
        return try withPool { pool throws(StoreError) in try pool.install(file, of: replacement) }
    }

    /// Rewrites a quarantined conversation from the intact lines of its file and the missing lines.
    func rebuild(
        _ path: String, in directory: String, adding entries: [ConversationEntry]
    ) throws(StoreError) -> ConversationRepair {
        let (quarantine, waiting) = try withPool { pool throws(StoreError) in
            if pool.isClosed { throw .closed }
            return (pool.quarantine, pool.quarantine.waitingEntries(of: path))
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

    /// Clears the list of conversations whose latest write failed: each was written or quarantined since.
    func forgetRefused() { withPool { $0.refused = [] } }

    /// The number of conversations whose latest line could not be written; never blocks.
    ///
    /// Errors of the whole disk, such as a full one, do not count.
    var refusedCount: Int { refusals.load(ordering: .relaxed) }

    /// The quarantined conversations, as paths below the folder of all conversations.
    var quarantined: Set<String> { pool.withLock { $0.quarantine.paths } }

    /// The number of quarantined conversations; never blocks.
    var quarantinedCount: Int { quarantines.load(ordering: .relaxed) }

    /// Closes the files; every later call throws ``StoreError/closed``.
    func close() { pool.withLock { $0.close() } }

    /// Runs `body` on the pool on the caller's thread, which may block while files are read or written.
    func withPool<Result: Sendable, Failure: Error>(
        _ body: (inout ConversationPool) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try pool.withLock { pool throws(Failure) in
            defer {
                quarantines.store(pool.quarantine.paths.count, ordering: .relaxed)
                refusals.store(pool.refused.count, ordering: .relaxed)
            }
            return try body(&pool)
        }
    }
}
