import BalloonPOSIX
import BusinessMessages

/// The files of one partition: a bounded number is open, and what is not on disk yet is known.
struct ConversationPool: Sendable {
    let directory: String
    var open: [ConversationName: OpenConversation] = [:]
    var ends: KnownEnds
    private var uses: UInt64 = 0
    /// What is not on disk yet.
    var unsynced = UnsyncedConversations()
    /// The conversations that got lines from the journal in this life, which somebody may be about to write.
    var completed: Set<ConversationName> = []
    /// The folders of businesses: none is computed twice, and all names of a business share one text.
    private var businesses: [BusinessID: String] = [:]
    var isClosed = false
    private(set) var quarantine: ConversationQuarantine
    /// What an earlier life may not have brought to disk.
    private var unsettled = UnsettledRecords()

    let disk: any StoreDisk
    private let maximumOpenFiles: Int
    private static let maximumBusinesses = 10_000

    init(
        directory: String, quarantine: ConversationQuarantine, disk: any StoreDisk, maximumOpenFiles: Int,
        maximumKnownEnds: Int
    ) {
        self.disk = disk
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

    /// Appends a line to its conversation's file, unless it `mightBeThere` and is; whether it was appended.
    ///
    /// The line of a conversation that is quarantined waits for the conversation to be rebuilt, if the pool `keeps` it.
    @discardableResult
    mutating func append(
        _ entry: ConversationEntry, mightBeThere: Bool, keeps: Bool = true
    ) throws(StoreError) -> Bool {
        let name = name(of: entry.conversation)
        let mightBeThere = mightBeThere || (!completed.isEmpty && completed.contains(name))
        do throws(StoreError) {
            let mended = mightBeThere ? [entry] : []
            return try quarantining(name, adding: mended) { pool throws(StoreError) in
                try pool.write(entry, to: name, mightBeThere: mightBeThere)
            }
        } catch {
            guard case .quarantinedConversation = error else { throw error }
            if keeps { quarantine.keep(entry) }
            return false
        }
    }

    /// The last lines of a conversation, oldest first; none when there is no such conversation.
    mutating func lines(of key: ConversationKey, maximum: Int) throws(StoreError) -> [ConversationLine] {
        let name = name(of: key)
        return try quarantining(name) { pool throws(StoreError) in
            try pool.makeOpen(name, creates: false)
            return try pool.open[name]?.end.lines(maximum: maximum, maximumBytes: .max) ?? []
        }
    }

    /// The end of a conversation as it is now, to be read without the pool; nil when there is no such conversation.
    mutating func end(of key: ConversationKey) throws(StoreError) -> ConversationEnd? {
        let name = name(of: key)
        return try quarantining(name) { pool throws(StoreError) in
            try pool.makeOpen(name, creates: false)
            return pool.open[name]?.end
        }
    }

    /// Records which lines an earlier life may not have brought to disk.
    mutating func begin(behind unsettled: UnsettledRecords) { self.unsettled = unsettled }

    /// Appends those of the lines that the file does not have, in their order; all of them, so that a power cut that took some
    /// explains what is damaged.
    ///
    /// The journal has those of a conversation that is quarantined until it is rebuilt.
    mutating func complete(_ name: ConversationName, with entries: [ConversationEntry]) throws(StoreError) {
        do throws(StoreError) {
            try quarantining(name, adding: entries) { pool throws(StoreError) in
                for entry in entries { _ = try pool.write(entry, to: name, mightBeThere: true) }
            }
        } catch {
            guard case .quarantinedConversation = error else { throw error }
        }
    }

    /// Quarantines a conversation that a rebuild writes anew, because its file is not what was written; one that is not there stays so.
    mutating func setAside(path: String) throws(StoreError) {
        if isClosed { throw .closed }
        if let name = ConversationName(path: path) { forget(name) }
        let file = directory + "/" + path
        if !quarantine.paths.contains(path), try holds(file) {
            _ = try add(path, .damaged(file: file, line: 0), isBeingRebuilt: true)
        }
    }

    /// Quarantines a conversation whose file may not be read or written.
    mutating func setAside(_ name: ConversationName, _ reason: StoreError) throws(StoreError) {
        forget(name)
        _ = try add(name.path, reason)
    }

    /// Forgets what is known of a file that is moved or replaced.
    mutating func forget(_ name: ConversationName) {
        open[name] = nil
        ends.remove(name)
        unsynced.remove(name)
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

    /// The lines that wait for a conversation that is quarantined.
    func waitingEntries(of path: String) throws(StoreError) -> [ConversationEntry] {
        if isClosed { throw .closed }
        return quarantine.waitingEntries(of: path)
    }

    /// Ends the quarantine of a conversation that was rebuilt, with the lines that came for it meanwhile.
    mutating func endQuarantine(of path: String, _ repair: ConversationRepair) throws(StoreError) {
        if isClosed { throw .closed }
        let waiting = quarantine.waitingEntries(of: path).filter { !repair.identities.contains($0.identity) }
        try quarantine.remove(path)
        if repair.count == 0, waiting.isEmpty { removeEmptyFolders(above: directory + "/" + path) }
        for entry in waiting { try append(entry, mightBeThere: true) }
    }

    /// Removes the folders of a conversation that is not there any more, as far as nothing else is in them.
    private mutating func removeEmptyFolders(above path: String) {
        var folder = path
        for _ in 0..<2 {
            folder = Directory.parent(of: folder)
            // One that has others in it stays.
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
            let isNew = try open.values[index].append(entry, mightBeThere: mightBeThere)
            // A line that is there already may have been written by a life that did not sync it.
            unsynced.insert(name)
            return isNew
        } catch {
            open[name] = nil
            throw error
        }
    }

    /// Quarantines a conversation that turns out to be damaged, so that nothing is read from it or written behind it;
    /// mends it when the damage is what a power cut leaves.
    private mutating func quarantining<Result>(
        _ name: ConversationName, adding entries: [ConversationEntry] = [],
        _ body: (inout ConversationPool) throws(StoreError) -> Result
    ) throws(StoreError) -> Result {
        do throws(StoreError) { return try body(&self) } catch {
            guard case .damaged = error else { throw error }
            forget(name)
            if try !mend(name, adding: entries) { throw try add(name.path, error) }
        }
        return try body(&self)
    }

    /// Puts a conversation together again in which nothing is damaged but lines that were never synced; false when more
    /// is.
    ///
    /// In place and without a sync: everything that is written here is in the journal.
    private mutating func mend(
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
        return true
    }

    /// Refuses every later call: the directory is another process's from now on.
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

    /// Most conversations have a folder already, so it is made only when that turns out to be missing.
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

    /// Closes the quarter that was not used for longest: looking for one each time would cost as much as opening it.
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
