import BalloonJSON
import BalloonPOSIX
import Dispatch
import Logging

extension Store {
    /// What a rebuild did.
    package struct Rebuilt: Hashable, Sendable {
        /// Lines that were missing, or said something else than the journal, and are there now.
        package fileprivate(set) var restoredLines = 0
        /// Conversations that were damaged and are whole again.
        package fileprivate(set) var repairedConversations = 0
        /// Lines that neither the damaged files nor the journal had.
        package fileprivate(set) var lostLines = 0

        fileprivate init() {}

        /// Reads ``json``; nil when it is something else.
        package init?(_ json: [UInt8]) {
            // What is no JSON is something else.
            guard let root = (try? JSONDocument(json))?.root, let restored = root["restoredLines"]?.int,
                let repaired = root["repairedConversations"]?.int, let lost = root["lostLines"]?.int
            else { return nil }
            restoredLines = restored
            repairedConversations = repaired
            lostLines = lost
        }

        /// `{"restoredLines":2,"repairedConversations":1,"lostLines":0}`.
        package var json: [UInt8] {
            JSONWriter.object { writer in
                writer.field("restoredLines", restoredLines)
                writer.field("repairedConversations", repairedConversations)
                writer.field("lostLines", lostLines)
            }
        }
    }

    /// Replays the journal onto the conversations: writes every line that is missing, and anew each file in which a line is
    /// damaged, out of its number, twice, elsewhere's or not what the journal says.
    ///
    /// Beside everything else that the store does. A damaged file stays in its folder, with `.before` behind its name. One
    /// that can be neither read nor written is left as it is, and holds up no other.
    /// Throws a ``StoreError``; what was rebuilt until then stays.
    package func rebuild() async throws -> Rebuilt {
        // What was finished a moment ago may still be on its way to the file.
        await journal.flush()
        let rebuilt = try await withCheckedThrowingContinuation { continuation in
            DispatchQueue(label: "balloon.rebuild").async {
                do throws(StoreError) {
                    continuation.resume(returning: try self.replayJournal())
                } catch {
                    continuation.resume(throwing: error)
                }
            }
        }
        checkpointer.recordWrite()
        return rebuilt
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
        // Before the journal is read, so that who finishes meanwhile is in one of the two.
        let unfinished = scheduler.recorded
        try files.forEachRecord { record, number, location throws(StoreError) in
            guard let line = fold.apply(record, number: number, at: location) else { return }
            for entry in try line.entries(from: reader) {
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
            damaged[ConversationPath.file(lease.conversation), default: []] += try lease.entries(from: reader)
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

    /// Runs `body`; nil when the system refuses one file, which it says, unless it is the whole disk's trouble.
    private func leavingRefused<Result>(
        _ body: () throws(StoreError) -> Result
    ) throws(StoreError) -> Result? {
        do throws(StoreError) { return try body() } catch {
            guard case .unavailable(_, let reason) = error, !reason.isDiskWide else { throw error }
            logger.error("a conversation cannot be rebuilt", metadata: ["error": "\(error)"])
            return nil
        }
    }
}
