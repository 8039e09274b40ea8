import BalloonPOSIX
import BusinessMessages
import Logging

/// The conversations that were found damaged: their files lie in a folder of their own until they are rebuilt, or empty
/// ones in their place, where they may not be moved.
///
/// Nothing is read from them, and what is to be written waits, so that none is ever taken for an empty one.
struct ConversationQuarantine: Sendable {
    /// The files, as paths below the folder; below that of all conversations they are the same.
    private(set) var paths: Set<String>
    private let directory: String
    private let logger: Logger
    /// Lines that waited in this life; those of an earlier one are in the journal.
    private var waiting: [String: [ConversationEntry]] = [:]
    /// More of one conversation are in the journal only.
    private static let maximumWaitingLines = 1000

    /// Takes the conversations that earlier lives quarantined.
    init(_ data: DataDirectory, paths: Set<String>, logger: Logger) {
        directory = data.damaged
        self.logger = logger
        self.paths = paths
    }

    /// The files in a folder of damaged conversations.
    static func paths(in directory: String) throws(StoreError) -> Set<String> {
        var paths: Set<String> = []
        do throws(SystemError) {
            guard Directory.exists(directory) else { return [] }
            for business in try Directory.names(in: directory) {
                // `journal` has files, which are segments.
                for folder in try Directory.names(in: directory + "/" + business)
                where Directory.isDirectory(directory + "/" + business + "/" + folder) {
                    let names = try Directory.names(in: directory + "/" + business + "/" + folder)
                    for name in names where name.hasSuffix(".jsonl") {
                        paths.insert(business + "/" + folder + "/" + name)
                    }
                }
            }
        } catch {
            throw .unavailable(path: directory, error)
        }
        return paths
    }

    /// Throws ``StoreError/quarantinedConversation(file:)`` when the conversation with this path is one of them.
    func check(_ path: String) throws(StoreError) {
        if paths.isEmpty || !paths.contains(path) { return }
        throw .quarantinedConversation(file: directory + "/" + path)
    }

    /// Whether the conversation is one of them.
    func contains(_ name: ConversationName) -> Bool { !paths.isEmpty && paths.contains(name.path) }

    /// Keeps a line until its conversation is rebuilt.
    mutating func keep(_ entry: ConversationEntry) {
        let path = ConversationPath.file(entry.conversation)
        // The oldest are in the journal for certain.
        if waiting[path]?.count ?? 0 >= Self.maximumWaitingLines { waiting[path]?.removeFirst() }
        waiting[path, default: []].append(entry)
    }

    /// Moves a damaged conversation here, or one that may not be written, and logs it.
    ///
    /// Returns the error to throw, and the folders that must be synced before a checkpoint covers lines behind the damage.
    mutating func add(
        _ path: String, from conversations: String, _ reason: StoreError, isBeingRebuilt: Bool = false
    ) throws(StoreError) -> (error: StoreError, folders: [String]) {
        let target = directory + "/" + path
        let facts: Logger.Metadata = ["file": "\(target)", "reason": "\(reason)"]
        if isBeingRebuilt {
            logger.warning("a conversation is damaged and is written anew", metadata: facts)
        } else if case .unavailable(_, let error) = reason, error.isForbidden {
            logger.critical(
                "a conversation is forbidden and was set aside: mend its mode, balloon conversations rebuild",
                metadata: facts)
        } else {
            logger.critical(
                "a conversation is damaged and was set aside: balloon conversations rebuild", metadata: facts)
        }
        do throws(SystemError) {
            try Directory.make(Directory.parent(of: target))
            do throws(SystemError) {
                try Directory.rename(conversations + "/" + path, to: target)
            } catch {
                guard error.isForbidden || error.isMissing else { throw error }
                // It stays where it is, if it is there, and a rebuild takes it.
                _ = try File(target, for: .overwriting)
            }
        } catch {
            throw .unavailable(path: target, error)
        }
        paths.insert(path)
        let changed = Directory.parent(of: conversations + "/" + path)
        return (.quarantinedConversation(file: target), folders(above: target) + [changed])
    }

    /// The folders that a new file may have made new names in, up to the data directory.
    private func folders(above target: String) -> [String] {
        let folder = Directory.parent(of: target)
        let business = Directory.parent(of: folder)
        return [folder, business, directory, Directory.parent(of: directory)]
    }

    /// The lines that waited in this life for a conversation.
    func waitingEntries(of path: String) -> [ConversationEntry] { waiting[path] ?? [] }

    /// Writes a conversation anew, on disk when it returns, from the file that was put in its place, else from the damaged one;
    /// it stays one of them.
    ///
    /// Returns what was written; nothing is in its place if that has no line.
    func rebuild(
        _ path: String, in conversations: String, adding entries: [ConversationEntry]
    ) throws(StoreError) -> ConversationRepair {
        let source = directory + "/" + path
        let target = conversations + "/" + path
        do throws(SystemError) {
            let isThere = try Directory.holds(target)
            let base = try File(isThere ? target : source, for: .reading).readAll()
            var shown: [CustomerID: Set<LineIdentity>] = [:]
            let (repair, _) = Reconciler.decide(base, at: path, with: entries, after: .rebuild) { line in
                if shown[line.customer] == nil {
                    shown[line.customer] = Self.lines(of: line.customer, in: conversations)
                }
                return shown[line.customer]?.contains(line.identity) == true
            }
            // The file that was put in place of an empty one is kept beside it as well.
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

    /// Removes a conversation that was written anew; the damaged file stays beside it under another name.
    mutating func remove(_ path: String) throws(StoreError) {
        let source = directory + "/" + path
        do throws(SystemError) {
            if try File(source, for: .reading).sizeBytes() > 0 {
                try Directory.rename(source, to: source + ".before")
            } else {
                try Directory.remove(source)
            }
        } catch {
            throw .unavailable(path: source, error)
        }
        paths.remove(path)
        waiting[path] = nil
    }

    /// What the customer's conversations with all businesses show; what cannot be read shows nothing.
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
