import BalloonPOSIX
import Dispatch
import Logging
import Synchronization

/// Writes conversation lines behind the journal, and reads them.
///
/// On the caller's thread, which may wait for the disk and for others who write; syncs have a queue of their own.
final class ConversationWriter: Sendable {
    private let queue = DispatchQueue(label: "balloon.conversations")
    private let pool: Mutex<ConversationPool>
    /// How many conversations wait to be rebuilt; the pool itself may be waiting for the disk.
    private let quarantines: Atomic<Int>
    /// Those whose files refused their latest line.
    private let refused = Mutex<Set<ConversationKey>>([])
    private let refusals = Atomic(0)

    init(_ directory: DataDirectory, _ configuration: StoreConfiguration, logger: Logger) throws(StoreError) {
        let quarantine = try ConversationQuarantine(directory, logger: logger)
        quarantines = Atomic(quarantine.paths.count)
        pool = Mutex(
            ConversationPool(
                directory: directory.conversations, quarantine: quarantine, disk: configuration.disk,
                maximumOpenFiles: configuration.maximumOpenConversations))
    }

    /// Appends a line and returns when the system has it, unless it `mightBeThere` and is; syncs nothing.
    func append(_ entry: ConversationEntry, mightBeThere: Bool) throws(StoreError) {
        do throws(StoreError) {
            _ = try now { pool throws(StoreError) in try pool.append(entry, mightBeThere: mightBeThere) }
            if refusedCount > 0 { noteRefused { $0.remove(entry.conversation) } }
        } catch {
            if case .unavailable(_, let reason) = error, !reason.isDiskWide {
                noteRefused { $0.insert(entry.conversation) }
            }
            throw error
        }
    }

    /// Notes that every conversation could be written, or was set aside.
    func forgetRefused() { noteRefused { $0 = [] } }

    /// How many conversations' files refused their latest line, when that is not the whole disk's trouble; never waits.
    var refusedCount: Int { refusals.load(ordering: .relaxed) }

    private func noteRefused(_ change: (inout Set<ConversationKey>) -> Void) {
        refused.withLock { refused in
            change(&refused)
            refusals.store(refused.count, ordering: .relaxed)
        }
    }

    /// The last lines of a conversation, oldest first; no more than have `maximumBytes` together, but always the last.
    func lines(
        of key: ConversationKey, maximum: Int, maximumBytes: Int
    ) throws(StoreError) -> [ConversationLine] {
        let unread = try now { pool throws(StoreError) in
            try pool.unread(of: key, maximum: maximum, maximumBytes: maximumBytes)
        }
        // Parsed outside of the lock, and once more within it only when that sets the conversation aside.
        do throws(StoreError) { return try unread?.lines() ?? [] } catch {
            return try now { pool throws(StoreError) in try pool.lines(of: key, maximum: maximum) }
        }
    }

    /// Throws ``StoreError/quarantinedConversation(file:)`` when the conversation waits to be rebuilt.
    func checkIntact(_ key: ConversationKey) throws(StoreError) {
        if quarantinedCount == 0 { return }
        try now { pool throws(StoreError) in try pool.quarantine.check(ConversationPath.file(key)) }
    }

    /// The conversations that wait to be rebuilt, as paths below the folder of all conversations.
    var quarantined: Set<String> { pool.withLock { $0.quarantine.paths } }

    /// How many they are; never waits.
    var quarantinedCount: Int { quarantines.load(ordering: .relaxed) }

    /// Waits until every line is on disk; whether there was anything to wait for.
    func synchronize() async throws -> Bool {
        try await perform { pool throws(StoreError) in
            guard pool.isDirty else { return false }
            try pool.synchronize()
            return true
        }
    }

    /// Takes nothing more.
    func close() async throws { try await perform { pool throws(StoreError) in pool.close() } }

    /// Runs `body` at once, on the caller's thread, which may wait for the disk.
    func now<Result: Sendable>(
        _ body: (inout ConversationPool) throws(StoreError) -> Result
    ) throws(StoreError) -> Result {
        try pool.withLock { pool throws(StoreError) in
            defer { quarantines.store(pool.quarantine.paths.count, ordering: .relaxed) }
            return try body(&pool)
        }
    }

    private func perform<Result: Sendable>(
        _ body: @escaping @Sendable (inout ConversationPool) throws(StoreError) -> Result
    ) async throws -> Result {
        try await withCheckedThrowingContinuation { continuation in
            queue.async {
                do throws(StoreError) {
                    let result = try self.now(body)
                    continuation.resume(returning: result)
                } catch {
                    continuation.resume(throwing: error)
                }
            }
        }
    }
}
