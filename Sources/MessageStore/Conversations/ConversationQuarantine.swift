import BalloonPOSIX
import BusinessMessages
import Logging

/// The quarantined conversations: their damaged files are in a separate folder until they are rebuilt.
///
/// A file that cannot be moved stays in its place, and an empty file in the separate folder marks it as
/// quarantined.
///
/// A quarantined conversation cannot be read, and its new lines wait. It would otherwise look like an empty
/// one.
struct ConversationQuarantine: Sendable {
    /// The paths of the quarantined files, relative to the folder of quarantined conversations.
    ///
    /// Each file had the same path relative to the folder of all conversations.
    private(set) var paths: Set<String>
    private let directory: String
    private let logger: Logger
    /// The lines of this process that wait for each conversation; older ones are only in the journal.
    private var waiting: [String: Deque<ConversationEntry>] = [:]
    /// The maximum number of waiting lines of one conversation; beyond it, the oldest lines are only in the journal.
    private static let maximumWaitingLines = 1000

    /// Loads the conversations that earlier processes quarantined.
    init(_ data: DataDirectory, paths: Set<String>, logger: Logger) {
        directory = data.damaged
        self.logger = logger
        self.paths = paths
    }

    /// Returns the paths of the files in a folder of quarantined conversations.
    static func paths(in directory: String) throws(StoreError) -> Set<String> {
        // The files in the folder `journal` are damaged segments; they are not in a folder of a conversation.
        Set(try DataFiles().conversationPaths(in: directory))
    }

    /// Throws ``StoreError/quarantinedConversation(file:)`` when the conversation with this path is
    /// quarantined.
    func check(_ path: String) throws(StoreError) {
        if paths.isEmpty || !paths.contains(path) { return }
        throw .quarantinedConversation(file: directory + "/" + path)
    }

    /// Whether the conversation is quarantined.
    func contains(_ name: ConversationName) -> Bool { !paths.isEmpty && paths.contains(name.path) }

    /// Keeps a line until its conversation is rebuilt.
    mutating func keep(_ entry: ConversationEntry) {
        let path = ConversationPath.file(entry.conversation)
        // The dropped line is the oldest one, which is certainly in the journal.
        if waiting[path]?.count ?? 0 >= Self.maximumWaitingLines { _ = waiting[path]?.popFirst() }
        waiting[path, default: Deque()].append(entry)
    }

    /// Moves a damaged or unwritable conversation into quarantine, and logs a message about it.
    ///
    /// Returns the error to throw, and the folders that must be synced before the next checkpoint.
    mutating func add(
        _ path: String, from conversations: String, _ reason: StoreError, isBeingRebuilt: Bool = false
    ) throws(StoreError) -> (error: StoreError, folders: [String]) {
        let target = directory + "/" + path
        let facts: Logger.Metadata = ["file": "\(target)", "reason": "\(reason)"]
        if isBeingRebuilt {
            logger.warning("conversation is damaged; rewriting it", metadata: facts)
        } else if case .unavailable(_, let error) = reason, error.isForbidden {
            logger.critical(
                "conversation is not accessible and was quarantined: correct its mode, then run balloon conversations rebuild",
                metadata: facts)
        } else {
            logger.critical(
                "conversation is damaged and was quarantined: run balloon conversations rebuild",
                metadata: facts)
        }
        try StoreError.naming(target) { () throws(SystemError) in
            try Directory.make(Directory.parent(of: target))
            do throws(SystemError) {
                try Directory.rename(conversations + "/" + path, to: target)
            } catch {
                guard error.isForbidden || error.isMissing else { throw error }
                // The file stays in its place, if it exists; the empty file marks it, and a rebuild reads it
                // in its place.
                _ = try File(target, for: .overwriting)
            }
        }
        paths.insert(path)
        let changed = Directory.parent(of: conversations + "/" + path)
        return (.quarantinedConversation(file: target), folders(above: target) + [changed])
    }

    /// Returns the folders that may have got a new entry with the new file, up to the data directory.
    private func folders(above target: String) -> [String] {
        let folder = Directory.parent(of: target)
        let business = Directory.parent(of: folder)
        return [folder, business, directory, Directory.parent(of: directory)]
    }

    /// The lines of a conversation that wait since this process started.
    func waitingEntries(of path: String) -> [ConversationEntry] { waiting[path].map(Array.init) ?? [] }

    /// Rewrites a quarantined conversation and syncs it; the conversation stays quarantined.
    ///
    /// The content comes from the file at the conversation's usual path. When there is none, it comes from
    /// the quarantined file. Returns the written content; when it has no line, no file is created.
    func rebuild(
        _ path: String, in conversations: String, adding entries: [ConversationEntry]
    ) throws(StoreError) -> ConversationRepair {
        let source = directory + "/" + path
        let target = conversations + "/" + path
        do throws(SystemError) {
            let isThere = try Directory.holds(target)
            let base = try File(isThere ? target : source, for: .reading).readAll()
            var shown: [CustomerID: Set<LineIdentity>] = [:]
            let repair = ConversationRepair(
                base, at: path, adding: entries,
                isElsewhere: { line in
                    if shown[line.customer] == nil {
                        shown[line.customer] = Self.lines(of: line.customer, in: conversations)
                    }
                    return shown[line.customer]?.contains(line.identity) == true
                })
            // When the file could not be moved, the file in quarantine is empty: copy the damaged content to
            // it.
            if isThere, try File(source, for: .reading).sizeBytes() == 0, !base.isEmpty {
                try AtomicFile.write(base, to: source)
            }
            if repair.count > 0 {
                let folder = Directory.parent(of: target)
                try Directory.make(folder)
                try AtomicFile.write(repair.bytes, to: target)
                try Directory.synchronize(Directory.parent(of: folder))
                try Directory.synchronize(conversations)
            } else if isThere {
                try Directory.remove(target)
            }
            return repair
        } catch {
            throw .unavailable(path: source, error)
        }
    }

    /// Ends the quarantine of a rewritten conversation; its damaged file is renamed to `….before`.
    mutating func remove(_ path: String) throws(StoreError) {
        let source = directory + "/" + path
        try StoreError.naming(source) { () throws(SystemError) in
            if try File(source, for: .reading).sizeBytes() > 0 {
                try Directory.rename(source, to: source + ".before")
            } else {
                try Directory.remove(source)
            }
        }
        paths.remove(path)
        waiting[path] = nil
    }

    /// Removes a conversation whose file was erased from the quarantine's lists; returns its waiting lines.
    mutating func forget(_ path: String) -> [ConversationEntry] {
        paths.remove(path)
        return waiting.removeValue(forKey: path).map(Array.init) ?? []
    }

    /// The identities of all lines of the customer's conversations with any business; unreadable lines are skipped.
    private static func lines(of customer: CustomerID, in conversations: String) -> Set<LineIdentity> {
        let businesses = (try? Directory.names(in: conversations)) ?? []
        return businesses.reduce(into: []) { lines, business in
            let path = conversations + "/" + business + "/" + ConversationPath.file(of: customer)
            let bytes = (try? File(path, for: .reading).readAll()) ?? []
            for piece in bytes.split(separator: UInt8(ascii: "\n")) {
                if let line = ConversationLine(Array(piece)) { lines.insert(line.identity) }
            }
        }
    }
}
