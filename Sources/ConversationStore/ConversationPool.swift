import BalloonPOSIX

/// The conversations that are open, a bounded number, and which of all need a sync.
struct ConversationPool: Sendable {
    private let directory: String
    private var open: [ConversationKey: OpenConversation] = [:]
    private var uses: UInt64 = 0
    private var dirty: Set<ConversationKey> = []
    private var newDirectories: Set<String> = []
    private var isClosed = false
    private(set) var quarantine: ConversationQuarantine

    private let maximumOpenFiles: Int
    /// From this many dirty files on one sync of the whole file system is cheaper.
    private static let maximumSingleSyncs = 64

    init(directory: String, quarantine: ConversationQuarantine, maximumOpenFiles: Int) {
        self.directory = directory
        self.quarantine = quarantine
        self.maximumOpenFiles = max(1, maximumOpenFiles)
    }

    /// Whether any line was written since the last sync.
    var isDirty: Bool { !dirty.isEmpty }

    /// Appends a line to its conversation's file, unless it `mightBeThere` and is; whether it was appended.
    ///
    /// The line of a conversation that is quarantined waits for the conversation to be rebuilt.
    @discardableResult
    mutating func append(_ entry: ConversationEntry, mightBeThere: Bool) throws(StoreError) -> Bool {
        do throws(StoreError) {
            return try quarantining(entry.conversation) { pool throws(StoreError) in
                try pool.write(entry, mightBeThere: mightBeThere)
            }
        } catch {
            guard case .quarantinedConversation = error else { throw error }
            quarantine.keep(entry)
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

    /// Writes a conversation that is quarantined anew, from what is good in its file and what is missing there.
    mutating func repair(
        _ path: String, adding entries: [ConversationEntry]
    ) throws(StoreError) -> ConversationRepair {
        if isClosed { throw .closed }
        return try quarantine.repair(path, in: directory, adding: entries)
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

    /// Sets a conversation aside that turns out to be damaged, so that nothing is read from it or written behind it.
    private mutating func quarantining<Result>(
        _ key: ConversationKey, _ body: (inout ConversationPool) throws(StoreError) -> Result
    ) throws(StoreError) -> Result {
        do throws(StoreError) { return try body(&self) } catch {
            guard case .damaged = error else { throw error }
            open[key] = nil
            dirty.remove(key)
            throw try quarantine.add(key, from: directory, error)
        }
    }

    /// Waits until every line is on disk, and the names of new files and folders.
    mutating func synchronize() throws(StoreError) {
        do throws(SystemError) {
            if dirty.count > Self.maximumSingleSyncs {
                try Directory.synchronizeFileSystem(of: directory)
            } else {
                for key in dirty { try synchronize(key) }
                for path in newDirectories { try Directory.synchronize(path) }
            }
        } catch {
            throw .unavailable(path: directory, error)
        }
        dirty.removeAll()
        newDirectories.removeAll()
    }

    private func synchronize(_ key: ConversationKey) throws(SystemError) {
        if let conversation = open[key] { return try conversation.synchronize() }
        try File(directory + "/" + ConversationPath.file(key), for: .reading).synchronizeData()
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
        if !creates, !Directory.exists(path) { return }
        var conversation = try openFile(path)
        if conversation.isNew { newDirectories.insert(Directory.parent(of: path)) }
        conversation.lastUse = uses
        if open.count >= maximumOpenFiles { closeOldest() }
        open[key] = conversation
    }

    /// Most conversations have a folder already, so it is made only when that turns out to be missing.
    private mutating func openFile(_ path: String) throws(StoreError) -> OpenConversation {
        do throws(StoreError) { return try OpenConversation(path) } catch {
            let folder = Directory.parent(of: path)
            if Directory.isDirectory(folder) { throw error }
            do throws(SystemError) {
                try Directory.make(folder)
            } catch {
                throw .unavailable(path: folder, error)
            }
            newDirectories.formUnion([directory, Directory.parent(of: folder)])
            return try OpenConversation(path)
        }
    }

    /// Closes the quarter that was not used for longest: looking for one each time would cost as much as opening it.
    private mutating func closeOldest() {
        let uses = open.values.map(\.lastUse).sorted()
        let limit = uses[uses.count / 4]
        open = open.filter { $0.value.lastUse > limit }
    }
}
