import BalloonJSON
import BalloonPOSIX
import Dispatch
import Logging

extension Store {
    /// The result of a rebuild.
    package struct Rebuilt: Hashable, Sendable {
        /// The number of restored lines: they were missing from the files or differed from the journal.
        package var restoredLines = 0
        /// The number of repaired conversations.
        package var repairedConversations = 0
        /// The number of lost lines: neither the damaged files nor the journal contained them.
        package var lostLines = 0

        /// Creates the result of a rebuild that restored nothing.
        package init() {}
    }

    /// Restores conversations from the journal.
    ///
    /// Appends every missing line, and rewrites each file that has a damaged, misnumbered, repeated,
    /// misplaced or differing line. Runs during normal operation of the store. A damaged file stays in its
    /// folder, with the suffix `.before`. A file that can be neither read nor written is left unchanged, and
    /// the other files are still rebuilt. No erasure changes files meanwhile. Throws a ``StoreError``,
    /// ``StoreError/backupRunning(process:)`` while a backup copies the files; earlier results are kept.
    package func rebuild() async throws -> Rebuilt {
        try await changes.run { try await self.rebuildNow() }
    }

    private func rebuildNow() async throws -> Rebuilt {
        guard let permit = try FileChangePermit(dataDirectory: directory) else {
            throw StoreError.backupRunning(process: nil)
        }
        defer { withExtendedLifetime(permit) {} }
        // The finished record of a recent message may not be in the file yet.
        await journal.flush()
        let result = try await DispatchQueue(label: "balloon.rebuild").run { try self.replayJournal() }
        index.rebuild()
        checkpointer.recordWrite()
        return result
    }

    private func replayJournal() throws(StoreError) -> Rebuilt {
        var refused: Set<String> = []
        for path in try StoreVerification.faultyConversations(in: directory).sorted() {
            let isAside: Void? = try leavingRefused { () throws(StoreError) in
                try conversations.partition(ofPath: path).withPool { pool throws(StoreError) in
                    try pool.setAside(path: path)
                }
            }
            if isAside == nil { refused.insert(path) }
        }
        var rebuilt = Rebuilt()
        var damaged: [String: [ConversationEntry]] = [:]
        var fold = LineFold()
        // The list is made before the journal is read: a delivery that finishes in between is in the list, in
        // the journal, or in both.
        let unfinished = scheduler.all
        try files.forEachRecord { record throws(StoreError) in
            guard let line = fold.apply(record) else { return }
            // A reply may end before the delivery of its message does, but the message's line must precede
            // the reply's line.
            let answered = try line.answered?.entries(from: reader) ?? []
            for entry in try answered + line.entries(from: reader) {
                let path = ConversationPath.file(entry.conversation)
                if refused.contains(path) { continue }
                let result = try leavingRefused { () throws(StoreError) in
                    try conversations.partition(of: entry.conversation).withPool { pool throws(StoreError) in
                        let isNew = try pool.append(entry, mightBeThere: true, keeps: false)
                        let isAside = !isNew && pool.quarantine.paths.contains(path)
                        return (isNew: isNew, isAside: isAside)
                    }
                }
                guard let result else {
                    refused.insert(path)
                    continue
                }
                if result.isNew { rebuilt.restoredLines += 1 }
                if result.isAside { damaged[path, default: []].append(entry) }
            }
        }
        for lease in unfinished {
            damaged[ConversationPath.file(lease.conversation), default: []] += try journalState.entries(
                of: lease, from: reader)
        }
        for path in conversations.quarantined.sorted() {
            let repair = try leavingRefused { () throws(StoreError) in
                try conversations.partition(ofPath: path).rebuild(
                    path, in: DataDirectory(path: directory).conversations, adding: damaged[path] ?? [])
            }
            guard let repair else {
                refused.insert(path)
                continue
            }
            rebuilt.restoredLines += repair.restored + repair.corrected
            rebuilt.lostLines += repair.lost
            rebuilt.repairedConversations += 1
        }
        if refused.isEmpty { conversations.forgetRefused() }
        return rebuilt
    }

    /// Runs `body`; logs an error that the system reports for one file, and returns nil.
    ///
    /// Rethrows every other error, including those of the whole disk.
    private func leavingRefused<Result>(
        _ body: () throws(StoreError) -> Result
    ) throws(StoreError) -> Result? {
        do throws(StoreError) { return try body() } catch {
            guard case .unavailable(_, let reason) = error, !reason.isDiskWide else { throw error }
            logger.error(
                "a conversation could not be rebuilt and stays quarantined", metadata: ["error": "\(error)"])
            return nil
        }
    }
}
