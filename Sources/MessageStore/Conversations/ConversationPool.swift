import BalloonPOSIX
import BusinessMessages

/// The files of one partition: keeps a limited number open, and tracks which are not synced.
struct ConversationPool: Sendable {
    let directory: String
    var open: [ConversationName: OpenConversation] = [:]
    var ends: KnownEnds
    private var uses: UInt64 = 0
    /// The files and folders that are not on disk yet.
    var unsynced = UnsyncedConversations()
    /// The conversations that this process completed with lines from the journal.
    ///
    /// A delivery may append one of these lines again, so each append checks whether the file has the line.
    var completed: Set<ConversationName> = []
    /// The folder of each business; all names of a business share this one string.
    private var businesses: [BusinessID: String] = [:]
    /// The conversations whose latest line could not be written to their file.
    var refused: Set<ConversationKey> = []
    var isClosed = false
    private(set) var quarantine: ConversationQuarantine
    /// The records whose lines an earlier process may have written without a sync.
    private var unsettled = UnsettledRecords()

    let disk: any StoreDisk
    let index: IndexedConversations?
    private let maximumOpenFiles: Int
    private static let maximumBusinesses = 10_000

    /// Gets every written line, in the order of each file.
    private let feed: EventFeed

    init(
        directory: String, quarantine: ConversationQuarantine, disk: any StoreDisk, maximumOpenFiles: Int,
        maximumKnownEnds: Int, feed: EventFeed, index: IndexedConversations? = nil
    ) {
        self.disk = disk
        self.feed = feed
        self.index = index
        self.directory = directory
        self.quarantine = quarantine
        self.maximumOpenFiles = max(1, maximumOpenFiles)
        ends = KnownEnds(maximumCount: maximumKnownEnds)
    }

    /// The name of a conversation's file.
    mutating func name(of key: ConversationKey) -> ConversationName {
        if let business = businesses[key.business] { return ConversationName(key, in: business) }
        if businesses.count >= Self.maximumBusinesses { businesses = [:] }
        let business = ConversationPath.business(key.business)
        businesses[key.business] = business
        return ConversationName(key, in: business)
    }

    /// Appends a line to its conversation's file, unless the file has it; returns whether it was appended.
    ///
    /// The file is searched for the line only with `mightBeThere`.
    ///
    /// A quarantined conversation is not written. With `keeps`, its line is kept in memory until the
    /// conversation is rebuilt.
    @discardableResult
    mutating func append(
        _ entry: ConversationEntry, mightBeThere: Bool, keeps: Bool = true
    ) throws(StoreError) -> Bool {
        let name = name(of: entry.conversation)
        let mightBeThere = mightBeThere || (!completed.isEmpty && completed.contains(name))
        do throws(StoreError) {
            let missing = mightBeThere ? [entry] : []
            return try quarantining(name, adding: missing) { pool throws(StoreError) in
                try pool.write(entry, to: name, mightBeThere: mightBeThere)
            }
        } catch {
            guard case .quarantinedConversation = error else { throw error }
            if keeps { quarantine.keep(entry) }
            feed.add(entry, nil)
            return false
        }
    }

    /// The last lines of a conversation, oldest first; empty when the conversation does not exist.
    mutating func lines(of key: ConversationKey, maximum: Int) throws(StoreError) -> [ConversationLine] {
        let name = name(of: key)
        return try quarantining(name) { pool throws(StoreError) in
            try pool.makeOpen(name, creates: false)
            return try pool.open[name]?.end.lines(maximum: maximum, maximumBytes: .max) ?? []
        }
    }

    /// Returns the current end of a conversation; nil when the conversation does not exist.
    ///
    /// The caller reads the file up to this end without the pool's lock.
    mutating func end(of key: ConversationKey) throws(StoreError) -> ConversationEnd? {
        let name = name(of: key)
        return try quarantining(name) { pool throws(StoreError) in
            try pool.makeOpen(name, creates: false)
            return pool.open[name]?.end
        }
    }

    /// Changes what is cached about a conversation, while its file is open.
    mutating func updateEnd(of key: ConversationKey, _ change: (inout ConversationEnd) -> Void) {
        let name = name(of: key)
        if let index = open.index(forKey: name) { change(&open.values[index].end) }
    }

    /// Returns the next files of the round to sync; a call says that the previous ones are on disk.
    mutating func nextSyncs(maximum: Int) -> [ConversationSync] {
        unsynced.takeFiles(maximum: maximum).map {
            ConversationSync(name: $0, path: directory + "/" + $0.path, file: open[$0]?.end.file)
        }
    }

    /// Sets the records whose lines an earlier process may have written without a sync.
    mutating func begin(behind unsettled: UnsettledRecords) { self.unsettled = unsettled }

    /// Appends the lines that the file lacks, in order.
    ///
    /// `entries` must have all expected lines: with them, ``ConversationRepair`` can tell damage by a power
    /// failure from other damage. The lines of a quarantined conversation stay in the journal until the conversation
    /// is rebuilt.
    mutating func complete(_ name: ConversationName, with entries: [ConversationEntry]) throws(StoreError) {
        do throws(StoreError) {
            try quarantining(name, adding: entries) { pool throws(StoreError) in
                for entry in entries { _ = try pool.write(entry, to: name, mightBeThere: true) }
            }
        } catch {
            guard case .quarantinedConversation = error else { throw error }
        }
    }

    /// Quarantines a conversation for a rebuild, because its file differs from what was written.
    ///
    /// A missing file stays missing.
    mutating func setAside(path: String) throws(StoreError) {
        if isClosed { throw .closed }
        if let name = ConversationName(path: path) { forget(name) }
        let file = directory + "/" + path
        if !quarantine.paths.contains(path), try DataFiles().holds(file) {
            try add(path, .damaged(file: file, line: 0), isBeingRebuilt: true)
        }
    }

    /// Drops what the pool knows about a file that is about to be moved or replaced.
    mutating func forget(_ name: ConversationName) {
        open[name] = nil
        ends.remove(name)
        unsynced.remove(name)
    }

    /// Runs `change`, which removes or replaces the files of a conversation, and forgets what is known of them.
    ///
    /// A quarantined conversation is then whole. The lines that waited for its rebuild and that `isKept` accepts are written.
    mutating func replace(
        _ name: ConversationName, keeping isKept: (ConversationEntry) -> Bool,
        _ change: () throws(StoreError) -> Void
    ) throws(StoreError) {
        if isClosed { throw .closed }
        forget(name)
        completed.remove(name)
        try change()
        for entry in quarantine.forget(name.path) where isKept(entry) {
            try append(entry, mightBeThere: true)
        }
        index?.refresh(name)
    }

    /// Quarantines a file; the folders with changed names are synced before the next checkpoint.
    ///
    /// Returns the error to throw.
    @discardableResult
    mutating func add(
        _ path: String, _ reason: StoreError, isBeingRebuilt: Bool = false
    ) throws(StoreError) -> StoreError {
        if let name = ConversationName(path: path) { forget(name) }
        let (error, folders) = try quarantine.add(
            path, from: directory, reason, isBeingRebuilt: isBeingRebuilt)
        unsynced.insert(folders: folders)
        return error
    }

    /// Ends the quarantine of a rebuilt conversation, and appends the lines that arrived during the rebuild.
    mutating func endQuarantine(of path: String, _ repair: ConversationRepair) throws(StoreError) {
        if isClosed { throw .closed }
        let waiting = quarantine.waitingEntries(of: path).filter { !repair.identities.contains($0.identity) }
        try quarantine.remove(path)
        if repair.count == 0, waiting.isEmpty { removeEmptyFolders(above: directory + "/" + path) }
        if let index, let name = ConversationName(path: path) { index.refresh(name) }
        for entry in waiting { try append(entry, mightBeThere: true) }
    }

    /// Removes the two folders above a conversation's removed file, if they are empty.
    private mutating func removeEmptyFolders(above path: String) {
        var folder = path
        for _ in 0..<2 {
            folder = Directory.parent(of: folder)
            // The removal fails for a folder with other conversations, and that folder stays.
            do throws(SystemError) { try Directory.removeEmpty(folder) } catch { return }
            unsynced.remove(folder: folder)
        }
    }

    private mutating func write(
        _ entry: ConversationEntry, to name: ConversationName, mightBeThere: Bool
    ) throws(StoreError) -> Bool {
        try makeOpen(name, creates: true)
        guard let index = open.index(forKey: name) else { return false }
        do throws(StoreError) {
            let line = try open.values[index].append(entry, mightBeThere: mightBeThere)
            let sequence = open.values[index].end.lastSequence
            if line != nil {
                self.index?.record(entry.indexLine(sequence: sequence), of: name)
            } else if self.index?.has(lines: sequence, of: name) == false {
                self.index?.refresh(name)
            }
            // Sync an existing line too, because the process that wrote it may not have synced it.
            unsynced.insert(name)
            feed.add(
                entry,
                line.map {
                    FoundLine(
                        sequence: sequence, at: entry.at, id: entry.id, kind: entry.kind,
                        isInternal: entry.isInternal,
                        text: $0.dropLast())
                })
            return line != nil
        } catch {
            open[name] = nil
            throw error
        }
    }

    /// Runs `body`; when the conversation is damaged, repairs it and runs `body` again.
    ///
    /// Damage that a power failure does not explain is not repaired. The conversation is then quarantined,
    /// and can be neither read nor written.
    private mutating func quarantining<Result>(
        _ name: ConversationName, adding entries: [ConversationEntry] = [],
        _ body: (inout ConversationPool) throws(StoreError) -> Result
    ) throws(StoreError) -> Result {
        do throws(StoreError) { return try body(&self) } catch {
            guard case .damaged = error else { throw error }
            forget(name)
            if try !repairInPlace(name, adding: entries) { throw try add(name.path, error) }
        }
        return try body(&self)
    }

    /// Repairs a conversation if all of its damaged lines were never synced; otherwise returns false.
    ///
    /// The file is repaired in place and without a sync, because every line to be written is in the journal.
    private mutating func repairInPlace(
        _ name: ConversationName, adding entries: [ConversationEntry]
    ) throws(StoreError) -> Bool {
        let below = name.path
        let path = directory + "/" + below
        do throws(SystemError) {
            let shown = try disk.read(path)
            guard
                let repair = ConversationRepair(shown, at: below, adding: entries, unsettled: unsettled)
            else { return false }
            let keptBytes = repair.commonBytes(with: shown)
            let file = try disk.open(path)
            try disk.truncate(file, to: keptBytes)
            try disk.append(Array(repair.bytes[keptBytes...]), to: file)
        } catch {
            throw .unavailable(path: path, error)
        }
        unsynced.insert(name)
        index?.refresh(name)
        return true
    }

    /// Refuses every later call: another process may own the directory from now on.
    mutating func close() {
        isClosed = true
        open.removeAll()
    }

    private mutating func makeOpen(_ name: ConversationName, creates: Bool) throws(StoreError) {
        if isClosed { throw .closed }
        uses += 1
        if let index = open.index(forKey: name) {
            open.values[index].lastUse = uses
            return
        }
        let below = name.path
        try quarantine.check(below)
        let path = directory + "/" + below
        if !creates, try !DataFiles().holds(path) { return }
        var conversation = try openFile(path, ends.remove(name))
        if conversation.isNew { unsynced.insert(folders: [Directory.parent(of: path)]) }
        conversation.lastUse = uses
        if open.count >= maximumOpenFiles { closeOldest() }
        open[name] = conversation
    }

    /// Opens a file, and creates its folder only when that fails, because most folders exist.
    private mutating func openFile(
        _ path: String, _ known: KnownEnds.End?
    ) throws(StoreError) -> OpenConversation {
        do throws(StoreError) { return try OpenConversation(path, on: disk, known) } catch {
            let folder = Directory.parent(of: path)
            if Directory.isDirectory(folder) { throw error }
            try StoreError.naming(folder) { () throws(SystemError) in try disk.makeDirectory(folder) }
            unsynced.insert(folders: [directory, Directory.parent(of: folder)])
            return try OpenConversation(path, on: disk, nil)
        }
    }

    /// Closes the least recently used quarter of the open files.
    ///
    /// To search for the least recently used file each time would cost as much as opening it.
    private mutating func closeOldest() {
        let uses = open.values.map(\.lastUse).sorted()
        let limit = uses[uses.count / 4]
        open = open.filter { name, conversation in
            if conversation.lastUse > limit { return true }
            let end = conversation.end
            ends.insert(
                KnownEnds.End(
                    sizeBytes: end.sizeBytes, lastSequence: end.lastSequence, contact: end.contact),
                of: name)
            return false
        }
    }
}
