import BalloonPOSIX

/// The new content of a conversation; its file is written and synced without holding the pool's lock.
struct ConversationReplacement: Sendable {
    let name: ConversationName
    let path: String
    /// The old file's content when it was read.
    let content: [UInt8]
    let repair: ConversationRepair
}

/// Replaces the file of a conversation whose sync failed; the pool's lock is not held during the write.
extension ConversationPool {
    /// Determines the new content of a conversation whose sync failed; nil when its file is not replaced.
    ///
    /// From this call on, `append` skips these lines, as if the file had them. A conversation that lost
    /// lines, or whose file cannot be read, is quarantined.
    mutating func beginReplacing(
        _ name: ConversationName, adding entries: [ConversationEntry]
    ) throws(StoreError) -> ConversationReplacement? {
        if isClosed { throw .closed }
        let below = name.path
        let path = directory + "/" + below
        if quarantine.contains(name) {
            unsynced.remove(name)
            return nil
        }
        completed.insert(name)
        guard try DataFiles().holds(path) else {
            try complete(name, with: entries)
            return nil
        }
        let shown: [UInt8]
        do throws(SystemError) { shown = try disk.read(path) } catch {
            guard error.isUnreadable else { throw .unavailable(path: path, error) }
            throw try add(below, .unavailable(path: path, error))
        }
        guard
            let repair = ConversationRepair(
                completing: shown, at: below, with: entries, through: open[name]?.end.lastSequence ?? 0)
        else {
            throw try add(below, .damaged(file: path, line: 0))
        }
        return ConversationReplacement(name: name, path: path, content: shown, repair: repair)
    }

    /// Adds the lines that the old file got since it was read to the new file, and replaces the old one.
    ///
    /// Returns false when the conversation is quarantined, or the old file does not begin with the content that
    /// was read. An erasure, a removal of old lines or a repair has then replaced it, and the new file has lines that
    /// must not return.
    mutating func install(
        _ file: AtomicFile.Replacement, of replacement: ConversationReplacement
    ) throws(StoreError) -> Bool {
        let path = replacement.path
        var isUnused = true
        defer { if isUnused { file.discard() } }
        if isClosed { return true }
        if quarantine.contains(replacement.name) { return false }
        guard try begins(path, with: replacement.content) else { return false }
        try StoreError.naming(path) { () throws(SystemError) in
            let old = try File(path, for: .reading)
            let readBytes = replacement.content.count
            let later = try old.read(at: readBytes, count: max(0, old.sizeBytes() - readBytes))
            // An installation that fails discards the file itself.
            isUnused = false
            try file.install(adding: replacement.repair.continuation(later))
        }
        open[replacement.name] = nil
        ends.remove(replacement.name)
        unsynced.insert(replacement.name)
        unsynced.insert(folders: [Directory.parent(of: path)])
        index?.refresh(replacement.name)
        return true
    }

    /// Whether the file at this path still begins with this content; false when the file does not exist.
    func begins(_ path: String, with content: [UInt8]) throws(StoreError) -> Bool {
        do throws(SystemError) {
            return try File(path, for: .reading).read(at: 0, count: content.count) == content
        } catch {
            if error.isMissing { return false }
            throw .unavailable(path: path, error)
        }
    }
}
