/// How the files are synced: in rounds, a few at a time, and without the pool while a sync runs.
extension ConversationPool {
    /// Puts everything that was written until now into a round.
    mutating func beginRound() { unsynced.beginRound() }

    /// The next files of the round; those before them are on disk.
    mutating func nextSyncs(maximum: Int) -> [ConversationSync] {
        unsynced.takeFiles(maximum: maximum).map {
            ConversationSync(path: directory + "/" + $0.path, file: open[$0]?.end.file)
        }
    }

    /// Whether a file that was not found is still to be synced; it may have been quarantined meanwhile.
    func awaitsSync(_ path: String) -> Bool {
        unsynced.inFlight.contains { directory + "/" + $0.path == path }
    }

    /// The folders that have new names; all files of the round are on disk.
    mutating func takeFolders() -> Set<String> { unsynced.takeFolders() }

    /// Ends the round: everything in it is on disk.
    mutating func endRound() { unsynced.endRound() }

    /// Ends the round: everything in it is in the next.
    mutating func cancelRound() { unsynced.cancelRound() }
}
