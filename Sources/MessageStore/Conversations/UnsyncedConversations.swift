/// The unsynced files and folders of one partition.
///
/// They are synced in rounds. A file or folder that changes during a round is also part of the next round.
struct UnsyncedConversations: Sendable {
    /// The files written since the current round began, which the next round syncs.
    private var dirty: Set<ConversationName> = []
    /// The files of the round that wait for their sync.
    private var waiting: [ConversationName] = []
    /// The files of the round whose sync is running.
    private(set) var inFlight: [ConversationName] = []
    /// The folders in which a name was created or removed since their last sync.
    private var folders: Set<String> = []
    /// The folders whose sync is running.
    private var foldersInFlight: Set<String> = []

    /// Whether everything is synced.
    var isEmpty: Bool { count == 0 && folders.isEmpty && foldersInFlight.isEmpty }

    /// The number of unsynced files.
    var count: Int { dirty.count + waiting.count + inFlight.count }

    /// All unsynced files.
    var names: Set<ConversationName> { dirty.union(waiting).union(inFlight) }

    /// Adds a written file.
    mutating func insert(_ name: ConversationName) { dirty.insert(name) }

    /// Adds folders in which a name was created or removed.
    mutating func insert(folders: [String]) { self.folders.formUnion(folders) }

    /// Removes a replaced or moved file.
    mutating func remove(_ name: ConversationName) {
        dirty.remove(name)
        if !waiting.isEmpty { waiting.removeAll { $0 == name } }
        if !inFlight.isEmpty { inFlight.removeAll { $0 == name } }
    }

    /// Removes a deleted folder.
    mutating func remove(folder: String) { folders.remove(folder) }

    /// Starts a round with the files written so far.
    mutating func beginRound() {
        waiting.append(contentsOf: dirty)
        dirty.removeAll()
    }

    /// Returns the next files of the round to sync; a call says that the previous ones are on disk.
    mutating func takeFiles(maximum: Int) -> [ConversationName] {
        inFlight = Array(waiting.suffix(maximum))
        waiting.removeLast(inFlight.count)
        return inFlight
    }

    /// Returns the folders with new names to sync; a call says that all files of the round are on disk.
    mutating func takeFolders() -> Set<String> {
        inFlight = []
        foldersInFlight = folders
        folders = []
        return foldersInFlight
    }

    /// Ends the round: all of its files are on disk.
    mutating func endRound() { (waiting, inFlight, foldersInFlight) = ([], [], []) }

    /// Cancels the round: all of its files move to the next.
    mutating func cancelRound() {
        dirty.formUnion(waiting)
        dirty.formUnion(inFlight)
        folders.formUnion(foldersInFlight)
        endRound()
    }
}
