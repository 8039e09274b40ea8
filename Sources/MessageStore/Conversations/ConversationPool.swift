import BalloonPOSIX
import BusinessMessages

/// The files of one partition: a limited number is open, and unsynced files are tracked.
struct ConversationPool: Sendable {
    let directory: String
    var open: [ConversationName: OpenConversation] = [:]
    var ends: KnownEnds
    private var uses: UInt64 = 0
    /// The files and folders that are not on disk yet.
    var unsynced = UnsyncedConversations()
    /// The conversations that this process completed from the journal; a delivery may be about to write the same
    /// lines.
    var completed: Set<ConversationName> = []
    /// The folder of each business, computed once, so that all names of a business share one text.
    private var businesses: [BusinessID: String] = [:]
    var isClosed = false
    private(set) var quarantine: ConversationQuarantine
    /// The records whose lines an earlier process may not have synced.
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

    /// Appends a line to its conversation's file, unless the file already has it; returns whether it was appended.
    ///
    /// The file is searched for the line only when it `mightBeThere`.
    ///
    /// The line of a quarantined conversation waits until the conversation is rebuilt, if the pool `keeps`
    /// it.
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
            feed.add(entry.identity, nil)
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

    /// The current end of a conversation, to be read without the pool's lock; nil when the conversation does not
    /// exist.
    mutating func end(of key: ConversationKey) throws(StoreError) -> ConversationEnd? {
        let name = name(of: key)
        return try quarantining(name) { pool throws(StoreError) in
            try pool.makeOpen(name, creates: false)
            return pool.open[name]?.end
        }
    }

    /// Keeps the result of a search while the file is open, unless a later message has replaced it.
    mutating func keep(isClosed: Bool, of key: ConversationKey) {
        let name = name(of: key)
        if let index = open.index(forKey: name) { open.values[index].keep(isClosed: isClosed) }
    }

    /// Sets the records whose lines an earlier process may not have synced.
    mutating func begin(behind unsettled: UnsettledRecords) { self.unsettled = unsettled }

    /// Appends the lines that the file lacks, in order.
    ///
    /// All expected lines are passed, so that damage from a power failure can be explained.
    ///
    /// The lines of a quarantined conversation stay in the journal until it is rebuilt.
    mutating func complete(_ name: ConversationName, with entries: [ConversationEntry]) throws(StoreError) {
        do throws(StoreError) {
            try quarantining(name, adding: entries) { pool throws(StoreError) in
                for entry in entries { _ = try pool.write(entry, to: name, mightBeThere: true) }
            }
        } catch {
            guard case .quarantinedConversation = error else { throw error }
        }
    }

    /// Quarantines a conversation whose file differs from what was written, for a rebuild; a missing file
    /// stays missing.
    mutating func setAside(path: String) throws(StoreError) {
        if isClosed { throw .closed }
        if let name = ConversationName(path: path) { forget(name) }
        let file = directory + "/" + path
        if !quarantine.paths.contains(path), try holds(file) {
            _ = try add(path, .damaged(file: file, line: 0), isBeingRebuilt: true)
        }
    }

    /// Quarantines a conversation whose file is unreadable or unwritable.
    mutating func setAside(_ name: ConversationName, _ reason: StoreError) throws(StoreError) {
        forget(name)
        _ = try add(name.path, reason)
    }

    /// Forgets the cached state of a file that is moved or replaced.
    mutating func forget(_ name: ConversationName) {
        open[name] = nil
        ends.remove(name)
        unsynced.remove(name)
    }

    /// Runs `change`, which removes or replaces the files of a conversation, and forgets what is known of them.
    mutating func replace(
        _ name: ConversationName, _ change: () throws(StoreError) -> Void
    ) throws(StoreError) {
        if isClosed { throw .closed }
        forget(name)
        completed.remove(name)
        try change()
        quarantine.forget(name.path)
        index?.refresh(name)
    }

    /// Quarantines a file; its names are synced before the next checkpoint.
    mutating func add(
        _ path: String, _ reason: StoreError, isBeingRebuilt: Bool = false
    ) throws(StoreError) -> StoreError {
        let (error, folders) = try quarantine.add(
            path, from: directory, reason, isBeingRebuilt: isBeingRebuilt)
        unsynced.insert(folders: folders)
        return error
    }

    /// The lines that wait for a quarantined conversation.
    func waitingEntries(of path: String) throws(StoreError) -> [ConversationEntry] {
        if isClosed { throw .closed }
        return quarantine.waitingEntries(of: path)
    }

    /// Ends the quarantine of a rebuilt conversation, adding lines that arrived meanwhile.
    mutating func endQuarantine(of path: String, _ repair: ConversationRepair) throws(StoreError) {
        if isClosed { throw .closed }
        let waiting = quarantine.waitingEntries(of: path).filter { !repair.identities.contains($0.identity) }
        try quarantine.remove(path)
        if repair.count == 0, waiting.isEmpty { removeEmptyFolders(above: directory + "/" + path) }
        if let index, let name = ConversationName(path: path) { index.refresh(name) }
        for entry in waiting { try append(entry, mightBeThere: true) }
    }

    /// Removes the empty folders of a removed conversation.
    private mutating func removeEmptyFolders(above path: String) {
        var folder = path
        for _ in 0..<2 {
            folder = Directory.parent(of: folder)
            // A folder with other conversations stays.
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
            // An existing line may have been written by a process that did not sync it.
            unsynced.insert(name)
            feed.add(
                entry.identity,
                line.map {
                    FoundLine(
                        sequence: sequence, at: entry.at, id: entry.id, kind: entry.kind, text: $0.dropLast())
                })
            return line != nil
        } catch {
            open[name] = nil
            throw error
        }
    }

    /// Quarantines a conversation when it is damaged, so that it is neither read nor written; repairs it when
    /// a power failure explains the damage.
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

    /// Repairs a conversation whose only damaged lines were never synced; returns false when other lines are
    /// damaged.
    ///
    /// The file is repaired in place and without a sync, because every written line is in the journal.
    private mutating func repairInPlace(
        _ name: ConversationName, adding entries: [ConversationEntry]
    ) throws(StoreError) -> Bool {
        let below = name.path
        let path = directory + "/" + below
        do throws(SystemError) {
            let shown = try disk.read(path)
            let (repair, action) = Reconciler.decide(
                shown, at: below, with: entries, after: .damage(unsettled))
            guard case .complete(let keptBytes) = action else { return false }
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
        if !creates, try !holds(path) { return }
        var conversation = try openFile(path, ends.remove(name))
        if conversation.isNew { unsynced.insert(folders: [Directory.parent(of: path)]) }
        conversation.lastUse = uses
        if open.count >= maximumOpenFiles { closeOldest() }
        open[name] = conversation
    }

    func holds(_ path: String) throws(StoreError) -> Bool {
        do throws(SystemError) { return try Directory.holds(path) } catch {
            throw .unavailable(path: path, error)
        }
    }

    /// Creates the folder only when it is missing, because most conversations have one.
    private mutating func openFile(
        _ path: String, _ known: KnownEnds.End?
    ) throws(StoreError) -> OpenConversation {
        do throws(StoreError) { return try OpenConversation(path, on: disk, known) } catch {
            let folder = Directory.parent(of: path)
            if Directory.isDirectory(folder) { throw error }
            do throws(SystemError) {
                try disk.makeDirectory(folder)
            } catch {
                throw .unavailable(path: folder, error)
            }
            unsynced.insert(folders: [directory, Directory.parent(of: folder)])
            return try OpenConversation(path, on: disk, nil)
        }
    }

    /// Closes the least recently used quarter of the files: searching for one each time would cost as much as
    /// opening it.
    private mutating func closeOldest() {
        let uses = open.values.map(\.lastUse).sorted()
        let limit = uses[uses.count / 4]
        open = open.filter { name, conversation in
            if conversation.lastUse > limit { return true }
            let end = conversation.end
            ends.insert(KnownEnds.End(sizeBytes: end.sizeBytes, lastSequence: end.lastSequence), of: name)
            return false
        }
    }
}
