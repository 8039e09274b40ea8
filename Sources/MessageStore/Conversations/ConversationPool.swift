import BalloonPOSIX

/// The conversations that are open, a bounded number, and which of all need a sync.
struct ConversationPool: Sendable {
    private let directory: String
    private var open: [ConversationKey: OpenConversation] = [:]
    private var uses: UInt64 = 0
    /// The conversations that were written since the last sync of all that did not fail.
    private(set) var dirty: Set<ConversationKey> = []
    /// The conversations that got lines from the journal in this life, which somebody may be about to write.
    private var completed: Set<ConversationKey> = []
    private var newDirectories: Set<String> = []
    private var isClosed = false
    private(set) var quarantine: ConversationQuarantine
    /// What an earlier life may not have brought to disk.
    private var unsettled = UnsettledRecords()

    private let disk: any StoreDisk
    private let maximumOpenFiles: Int
    /// From this many dirty files on one sync of the whole file system is cheaper.
    private static let maximumSingleSyncs = 64

    init(
        directory: String, quarantine: ConversationQuarantine, disk: any StoreDisk, maximumOpenFiles: Int
    ) {
        self.disk = disk
        self.directory = directory
        self.quarantine = quarantine
        self.maximumOpenFiles = max(1, maximumOpenFiles)
    }

    /// Whether any line was written since the last sync.
    var isDirty: Bool { !dirty.isEmpty }

    /// Appends a line to its conversation's file, unless it `mightBeThere` and is; whether it was appended.
    ///
    /// The line of a conversation that is quarantined waits for the conversation to be rebuilt, if the pool `keeps` it.
    @discardableResult
    mutating func append(
        _ entry: ConversationEntry, mightBeThere: Bool, keeps: Bool = true
    ) throws(StoreError) -> Bool {
        let mightBeThere =
            mightBeThere || (!completed.isEmpty && completed.contains(entry.conversation))
        do throws(StoreError) {
            let mended = mightBeThere ? [entry] : []
            return try quarantining(entry.conversation, adding: mended) { pool throws(StoreError) in
                try pool.write(entry, mightBeThere: mightBeThere)
            }
        } catch {
            guard case .quarantinedConversation = error else { throw error }
            if keeps { quarantine.keep(entry) }
            return false
        }
    }

    /// The last lines of a conversation, oldest first; none when there is no such conversation.
    mutating func lines(of key: ConversationKey, maximum: Int) throws(StoreError) -> [ConversationLine] {
        try quarantining(key) { pool throws(StoreError) in
            try pool.makeOpen(key, creates: false)
            return try pool.open[key]?.lines(maximum: maximum) ?? []
        }
    }

    /// The same, no more than `maximumBytes` of them but the last in any case; nobody has looked yet whether they are lines.
    mutating func unread(
        of key: ConversationKey, maximum: Int, maximumBytes: Int
    ) throws(StoreError) -> UnreadLines? {
        try quarantining(key) { pool throws(StoreError) in
            try pool.makeOpen(key, creates: false)
            return try pool.open[key]?.unread(maximum: maximum, maximumBytes: maximumBytes)
        }
    }

    /// Notes which lines an earlier life may not have brought to disk.
    mutating func begin(behind unsettled: UnsettledRecords) { self.unsettled = unsettled }

    /// Writes the lines of a conversation that a power cut may have taken, in their order, unless they are there.
    mutating func restore(_ entries: [ConversationEntry], of key: ConversationKey) throws(StoreError) {
        do throws(StoreError) {
            try quarantining(key, adding: entries) { pool throws(StoreError) in
                for entry in entries { _ = try pool.write(entry, mightBeThere: true) }
            }
        } catch {
            // The journal has them until it is rebuilt.
            guard case .quarantinedConversation = error else { throw error }
        }
    }

    /// Sets conversations aside that a rebuild writes anew, because their files are not what was written; those that are not there stay so.
    mutating func setAside(_ paths: Set<String>) throws(StoreError) {
        if paths.isEmpty { return }
        if isClosed { throw .closed }
        for key in dirty.union(open.keys) where paths.contains(ConversationPath.file(key)) {
            open[key] = nil
            dirty.remove(key)
        }
        for path in paths.subtracting(quarantine.paths).sorted() {
            let file = directory + "/" + path
            if try holds(file) {
                _ = try quarantine.add(
                    path, from: directory, .damaged(file: file, line: 0), isBeingRebuilt: true)
            }
        }
    }

    /// Sets a conversation aside whose file may not be read or written.
    mutating func setAside(_ key: ConversationKey, _ reason: StoreError) throws(StoreError) {
        open[key] = nil
        dirty.remove(key)
        _ = try quarantine.add(ConversationPath.file(key), from: directory, reason)
    }

    /// Writes a conversation that is quarantined anew, from what is good in its file and what is missing there.
    mutating func repair(
        _ path: String, adding entries: [ConversationEntry]
    ) throws(StoreError) -> ConversationRepair {
        if isClosed { throw .closed }
        let repair = try quarantine.repair(path, in: directory, adding: entries)
        if repair.count == 0 { removeEmptyFolders(above: directory + "/" + path) }
        return repair
    }

    /// Removes the folders of a conversation that is not there any more, as far as nothing else is in them.
    private mutating func removeEmptyFolders(above path: String) {
        var folder = path
        for _ in 0..<2 {
            folder = Directory.parent(of: folder)
            // One that has others in it stays.
            do throws(SystemError) { try Directory.removeEmpty(folder) } catch { return }
            newDirectories.remove(folder)
        }
    }

    /// Writes a conversation to a new file that takes the name of the old one when it is on disk, with those of the lines
    /// that the old one does not show.
    ///
    /// One in which others are missing is set aside, and one whose file cannot be read.
    mutating func writeAnew(
        _ key: ConversationKey, adding entries: [ConversationEntry]
    ) throws(StoreError) {
        if isClosed { throw .closed }
        let name = ConversationPath.file(key)
        let path = directory + "/" + name
        if quarantine.contains(key) {
            dirty.remove(key)
            return
        }
        completed.insert(key)
        guard try holds(path) else { return try restore(entries, of: key) }
        let shown: [UInt8]
        do throws(SystemError) { shown = try disk.read(path) } catch {
            guard error.isUnreadable else { throw .unavailable(path: path, error) }
            open[key] = nil
            dirty.remove(key)
            throw try quarantine.add(name, from: directory, .unavailable(path: path, error))
        }
        let repair = ConversationRepair(completing: shown, at: name, with: entries)
        let isWhole = repair.lost == 0 && repair.count >= open[key]?.lastSequence ?? 0
        open[key] = nil
        guard isWhole else {
            dirty.remove(key)
            throw try quarantine.add(name, from: directory, .damaged(file: path, line: 0))
        }
        do throws(SystemError) { try AtomicFile.write(repair.bytes, to: path) } catch {
            throw .unavailable(path: path, error)
        }
        // So that the folders above it are synced with the others.
        dirty.insert(key)
    }

    private mutating func write(_ entry: ConversationEntry, mightBeThere: Bool) throws(StoreError) -> Bool {
        let key = entry.conversation
        try makeOpen(key, creates: true)
        guard let index = open.index(forKey: key) else { return false }
        do throws(StoreError) {
            let isNew = try open.values[index].append(entry, mightBeThere: mightBeThere)
            // A line that is there already may have been written by a life that did not sync it.
            dirty.insert(key)
            return isNew
        } catch {
            open[key] = nil
            throw error
        }
    }

    /// Sets a conversation aside that turns out to be damaged, so that nothing is read from it or written behind it;
    /// mends it when the damage is what a power cut leaves.
    private mutating func quarantining<Result>(
        _ key: ConversationKey, adding entries: [ConversationEntry] = [],
        _ body: (inout ConversationPool) throws(StoreError) -> Result
    ) throws(StoreError) -> Result {
        do throws(StoreError) { return try body(&self) } catch {
            guard case .damaged = error else { throw error }
            open[key] = nil
            dirty.remove(key)
            if try !mend(key, adding: entries) {
                throw try quarantine.add(ConversationPath.file(key), from: directory, error)
            }
        }
        return try body(&self)
    }

    /// Puts a conversation together again in which nothing is damaged but lines that were never synced; false when more
    /// is.
    private func mend(_ key: ConversationKey, adding entries: [ConversationEntry]) throws(StoreError) -> Bool
    {
        let name = ConversationPath.file(key)
        let path = directory + "/" + name
        do throws(SystemError) {
            let repair = ConversationRepair(
                try File(path, for: .reading).readAll(), at: name, adding: entries)
            guard unsettled.explain(repair) else { return false }
            try AtomicFile.write(repair.bytes, to: path)
            return true
        } catch {
            throw .unavailable(path: path, error)
        }
    }

    /// Waits until every line is on disk, and the names of new files and folders.
    mutating func synchronize() throws(StoreError) {
        // Named, since one of them may be all that stops the checkpoints.
        var path = directory
        do throws(SystemError) {
            if dirty.count > Self.maximumSingleSyncs {
                try disk.synchronizeFileSystem(of: directory)
            } else {
                for key in dirty {
                    path = directory + "/" + ConversationPath.file(key)
                    try synchronize(key, at: path)
                }
                for folder in newDirectories {
                    path = folder
                    try disk.synchronizeDirectory(folder)
                }
            }
        } catch {
            throw .unavailable(path: path, error)
        }
        dirty.removeAll()
        newDirectories.removeAll()
    }

    private func synchronize(_ key: ConversationKey, at path: String) throws(SystemError) {
        if let conversation = open[key] { return try conversation.synchronize() }
        try disk.synchronize(disk.open(path))
    }

    /// Takes nothing more: the directory is someone else's from now on.
    mutating func close() {
        isClosed = true
        open.removeAll()
    }

    private mutating func makeOpen(_ key: ConversationKey, creates: Bool) throws(StoreError) {
        if isClosed { throw .closed }
        uses += 1
        if let index = open.index(forKey: key) {
            open.values[index].lastUse = uses
            return
        }
        let name = ConversationPath.file(key)
        try quarantine.check(name)
        let path = directory + "/" + name
        if !creates, try !holds(path) { return }
        var conversation = try openFile(path)
        if conversation.isNew { newDirectories.insert(Directory.parent(of: path)) }
        conversation.lastUse = uses
        if open.count >= maximumOpenFiles { closeOldest() }
        open[key] = conversation
    }

    private func holds(_ path: String) throws(StoreError) -> Bool {
        do throws(SystemError) { return try Directory.holds(path) } catch {
            throw .unavailable(path: path, error)
        }
    }

    /// Most conversations have a folder already, so it is made only when that turns out to be missing.
    private mutating func openFile(_ path: String) throws(StoreError) -> OpenConversation {
        do throws(StoreError) { return try OpenConversation(path, on: disk) } catch {
            let folder = Directory.parent(of: path)
            if Directory.isDirectory(folder) { throw error }
            do throws(SystemError) {
                try disk.makeDirectory(folder)
            } catch {
                throw .unavailable(path: folder, error)
            }
            newDirectories.formUnion([directory, Directory.parent(of: folder)])
            return try OpenConversation(path, on: disk)
        }
    }

    /// Closes the quarter that was not used for longest: looking for one each time would cost as much as opening it.
    private mutating func closeOldest() {
        let uses = open.values.map(\.lastUse).sorted()
        let limit = uses[uses.count / 4]
        open = open.filter { $0.value.lastUse > limit }
    }
}
