import BalloonPOSIX

/// The conversations that are open, a bounded number, and which of all need a sync.
struct ConversationPool: Sendable {
    private let directory: String
    private var open: [ConversationKey: OpenConversation] = [:]
    private var uses: UInt64 = 0
    private var dirty: Set<ConversationKey> = []
    private var newDirectories: Set<String> = []

    private static let maximumOpenFiles = 128
    /// From this many dirty files on one sync of the whole file system is cheaper.
    private static let maximumSingleSyncs = 64

    init(directory: String) { self.directory = directory }

    /// Whether any line was written since the last sync.
    var isDirty: Bool { !dirty.isEmpty }

    /// Appends a line to its conversation's file, unless it `mightBeThere` and is.
    mutating func append(_ entry: ConversationEntry, mightBeThere: Bool) throws(StoreError) {
        let key = entry.conversation
        try makeOpen(key, creates: true)
        guard let index = open.index(forKey: key) else { return }
        do throws(StoreError) {
            // A line that is there already may have been written by a life that did not sync it.
            _ = try open.values[index].append(entry, mightBeThere: mightBeThere)
            dirty.insert(key)
        } catch {
            open[key] = nil
            throw error
        }
    }

    /// The last lines of a conversation, oldest first; none when there is no such conversation.
    mutating func lines(of key: ConversationKey, maximum: Int) throws(StoreError) -> [ConversationLine] {
        try makeOpen(key, creates: false)
        return try open[key]?.lines(maximum: maximum) ?? []
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

    private mutating func makeOpen(_ key: ConversationKey, creates: Bool) throws(StoreError) {
        uses += 1
        if let index = open.index(forKey: key) {
            open.values[index].lastUse = uses
            return
        }
        let path = directory + "/" + ConversationPath.file(key)
        let folder = Directory.parent(of: path)
        if !creates, !Directory.exists(path) { return }
        do throws(SystemError) {
            if try Directory.make(folder) {
                newDirectories.formUnion([directory, Directory.parent(of: folder)])
            }
        } catch {
            throw .unavailable(path: folder, error)
        }
        var conversation = try OpenConversation(path)
        if conversation.isNew { newDirectories.insert(folder) }
        conversation.lastUse = uses
        if open.count >= Self.maximumOpenFiles,
            let oldest = open.min(by: { $0.value.lastUse < $1.value.lastUse })
        {
            open[oldest.key] = nil
        }
        open[key] = conversation
    }
}
