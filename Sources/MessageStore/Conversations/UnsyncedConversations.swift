/// The files and folders of one partition that are not on disk yet.
///
/// They are synced in rounds. A file or folder that is written again during a round is in the next one as well.
struct UnsyncedConversations: Sendable {
    /// The files that were written since the round began.
    private var dirty: Set<ConversationName> = []
    /// Those of the round that wait for their sync.
    private var waiting: [ConversationName] = []
    /// Those of the round whose sync runs.
    private(set) var inFlight: [ConversationName] = []
    /// The folders that have new names.
    private var folders: Set<String> = []
    /// Those whose sync runs.
    private var foldersInFlight: Set<String> = []

    /// Whether nothing is to be synced.
    var isEmpty: Bool { count == 0 && folders.isEmpty && foldersInFlight.isEmpty }

    /// How many files are to be synced.
    var count: Int { dirty.count + waiting.count + inFlight.count }

    /// All of them.
    var names: Set<ConversationName> { dirty.union(waiting).union(inFlight) }

    /// Adds a file that was written.
    mutating func insert(_ name: ConversationName) { dirty.insert(name) }

    /// Adds folders in which a name was made or removed.
    mutating func insert(folders: [String]) { self.folders.formUnion(folders) }

    /// Removes a file that was replaced or moved.
    mutating func remove(_ name: ConversationName) {
        dirty.remove(name)
        if !waiting.isEmpty { waiting.removeAll { $0 == name } }
        if !inFlight.isEmpty { inFlight.removeAll { $0 == name } }
    }

    /// Removes a folder that was removed.
    mutating func remove(folder: String) { folders.remove(folder) }

    /// Puts the files that were written until now into a round.
    mutating func beginRound() {
        waiting.append(contentsOf: dirty)
        dirty.removeAll()
    }

    /// The next files of the round; those before them are on disk.
    mutating func takeFiles(maximum: Int) -> [ConversationName] {
        inFlight = Array(waiting.suffix(maximum))
        waiting.removeLast(inFlight.count)
        return inFlight
    }

    /// The folders; all files of the round are on disk.
    mutating func takeFolders() -> Set<String> {
        inFlight = []
        foldersInFlight = folders
        folders = []
        return foldersInFlight
    }

    /// Ends the round: everything in it is on disk.
    mutating func endRound() { (waiting, inFlight, foldersInFlight) = ([], [], []) }

    /// Ends the round: everything in it is in the next.
    mutating func cancelRound() {
        dirty.formUnion(waiting)
        dirty.formUnion(inFlight)
        folders.formUnion(foldersInFlight)
        endRound()
    }
}
