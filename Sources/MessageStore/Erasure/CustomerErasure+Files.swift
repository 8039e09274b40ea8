import BalloonJSON
import BalloonPOSIX
import BalloonWire
import BusinessMessages

/// Erases customers from the files other than the journal.
extension CustomerErasure {
    /// Removes each conversation's handler state, unless the answer to a later message decided it.
    func removeStates(_ scope: ErasureScope) throws(StoreError) {
        for conversation in scope.conversations {
            try remove(conversation, in: directory.states) { path throws(StoreError) in
                let root = try files.read(path).flatMap { try? JSONDocument($0) }?.root
                return root?.record("decision").map { scope.erases($0) } ?? true
            }
        }
    }

    /// Removes a conversation's lines up to the last erased record; removes the file when no line is left.
    ///
    /// The kept lines are renumbered, so that the last one keeps its number; see ``ConversationHeader``.
    func removeLines(of conversation: ErasedConversation, _ scope: ErasureScope) throws(StoreError) {
        for folder in [directory.damaged, directory.conversations] {
            try remove(conversation, in: folder) { path throws(StoreError) in
                guard path == folder + "/" + conversation.path, let text = try files.read(path) else {
                    return true
                }
                let later = Self.later(text, than: scope)
                if !later.isEmpty, later != text { try files.replace(path, with: later) }
                return later.isEmpty
            }
        }
    }

    /// Removes those of a conversation's files in a folder that satisfy `isWanted`; see ``names(of:in:)``.
    private func remove(
        _ conversation: ErasedConversation, in folder: String,
        where isWanted: (_ path: String) throws(StoreError) -> Bool
    ) throws(StoreError) {
        let parent = folder + "/" + Directory.parent(of: conversation.path)
        let prefix = ConversationPath.name(of: conversation.customer)
        try files.remove(in: parent) { name throws(StoreError) in
            guard name.hasPrefix(prefix) else { return false }
            return try isWanted(parent + "/" + name)
        }
    }

    /// Returns the lines that are not erased, renumbered so that the last one keeps its number.
    static func later(_ text: [UInt8], than scope: ErasureScope) -> [UInt8] {
        var kept: [ArraySlice<UInt8>] = []
        var last = 0
        for piece in text.split(separator: UInt8(ascii: "\n")) {
            guard let line = ConversationLine(Array(piece)), line.record > scope.through,
                !scope.subjects.contains(line.record),
                let comma = piece.firstIndex(of: UInt8(ascii: ","))
            else { continue }
            kept.append(piece[comma...])
            last = line.sequence
        }
        if kept.isEmpty { return [] }
        let from = last - kept.count + 1
        return kept.enumerated().reduce(into: ConversationHeader.bytes(from: from)) { later, one in
            later += Array("{\"seq\":\(from + one.offset)".utf8) + one.element + [UInt8(ascii: "\n")]
        }
    }

    /// Removes the open requests of the conversations, and the temporary files of interrupted writes.
    ///
    /// Keeps the payments whose charge may have to be reversed, and returns their paths. Each is marked, so
    /// that the store removes it when its charge is settled.
    func removeRequests(_ scope: ErasureScope, keepsRecords: Bool) throws(StoreError) -> [String] {
        var busy: [String] = []
        for folder in try files.folders(in: directory.requests) {
            let parent = directory.requests + "/" + folder
            try files.remove(in: parent) { name throws(StoreError) in
                if name.hasSuffix(".new") { return true }
                let path = parent + "/" + name
                guard let bytes = try files.read(path), let root = (try? JSONDocument(bytes))?.root,
                    let key = ConversationKey(root), scope.holds(key)
                else { return false }
                guard var request = OpenRequestText.request(in: bytes), request.isBusy else { return true }
                busy.append(path)
                request.erase(keepsRecords: keepsRecords)
                try files.replace(path, with: OpenRequestText.bytes(of: request))
                return false
            }
        }
        return busy
    }

    /// Removes the files with messages of the customers that were written for a handler.
    func removeScratch(_ scope: ErasureScope) throws(StoreError) {
        for slug in try files.folders(in: directory.handlers) {
            let parent = directory.handlers + "/" + slug
            try files.remove(in: parent) { name throws(StoreError) in
                guard name.hasSuffix(".json"), let text = try files.read(parent + "/" + name) else {
                    return false
                }
                // A device may write an identifier with other escapes.
                let sender = (try? JSONDocument(text, limits: .journal))?.root["sourceId"]?.string
                return scope.isMentioned(in: text[...]) || sender.map { scope.isOf(CustomerID($0)) } ?? false
            }
        }
    }

    /// Removes the lines of the customers from the records of payments, unless they stay.
    func removePayments(_ scope: ErasureScope) throws(StoreError) {
        guard let end = scope.paymentsThrough else { return }
        try excluding(settings.excludingPayments) { () throws(StoreError) in
            try removePaymentLines(scope, through: end)
        }
    }

    private func excluding(
        _ others: (() -> Void) -> Void, _ change: @escaping () throws(StoreError) -> Void
    ) throws(StoreError) {
        var result = Result<Void, StoreError>.success(())
        others { result = Result { () throws(StoreError) in try change() } }
        try result.get()
    }

    private func removePaymentLines(_ scope: ErasureScope, through end: Timestamp) throws(StoreError) {
        let hashes = Set(
            scope.conversations.map { Array(Hex.encode(SHA256.hash($0.customer.rawValue.utf8)).utf8) })
        for slug in try files.folders(in: directory.payments) {
            for name in try files.names(in: directory.payments + "/" + slug) {
                let path = directory.payments + "/" + slug + "/" + name
                guard let text = try files.read(path) else { continue }
                let lines = text.split(separator: UInt8(ascii: "\n"))
                let kept = lines.filter { line in
                    guard hashes.contains(where: { line.firstPosition(of: $0) != nil }) else { return true }
                    // A line without a time is not one of a later payment.
                    let at = (try? JSONDocument(Array(line)))?.root.timestamp("at")
                    return at.map { $0 > end } ?? false
                }
                if kept.count == lines.count { continue }
                try files.replace(path, with: kept.flatMap { $0 + [UInt8(ascii: "\n")] })
            }
        }
    }

    /// Removes the contents that no other conversation names; returns their number.
    ///
    /// The journal's lines must be erased before. If the erased conversations had contents, every other conversation is read. Two
    /// kinds of contents stay, because the line that names them may not be seen: `unrecorded`, the contents of unfinished
    /// messages, and contents whose file is not older than `began`, in seconds since 1970. The caller reads `unrecorded` after the second
    /// `began` and writes the journal afterwards; nil while no store is open.
    func removeContents(
        _ scope: ErasureScope, unrecorded: Set<String> = [], olderThan began: Int? = nil
    ) throws(StoreError) -> Int {
        if scope.contents.isEmpty { return 0 }
        var removable = scope.contents.subtracting(unrecorded)
        try journal.forEachLine { _, _, line in removable.subtract(ContentReferences.hashes(in: line)) }
        let erased = scope.conversations.map { ($0.business, ConversationPath.name(of: $0.customer)) }
        try forEachFolder { path, business, names throws(StoreError) in
            try files.resting { () throws(StoreError) in
                for name in names {
                    guard var text = try files.read(path + "/" + name) else { continue }
                    let isErased = erased.contains { $0 == business && name.hasPrefix($1) }
                    if isErased { text = Self.later(text, than: scope) }
                    removable.subtract(ContentReferences.hashes(in: text[...]))
                }
            }
        }
        var count = 0
        for (folder, hashes) in Dictionary(grouping: removable, by: { String($0.prefix(2)) }) {
            try excluding(settings.excludingContents) { () throws(StoreError) in
                count += try removeContents(Set(hashes), in: folder, olderThan: began)
            }
        }
        return count
    }

    private func removeContents(
        _ hashes: Set<String>, in folder: String, olderThan began: Int?
    ) throws(StoreError) -> Int {
        let parent = directory.attachments + "/" + folder
        var count = 0
        try files.remove(in: parent) { name in
            // A content without a time is gone. The files of its uses have names that begin with the content's.
            let modified = (try? FileStatus.modifiedSecondsSince1970(parent + "/" + name)) ?? 0
            guard hashes.contains(String(name.prefix(64))), began.map({ modified < $0 }) ?? true
            else { return false }
            if hashes.contains(name) { count += 1 }
            return true
        }
        return count
    }
}
