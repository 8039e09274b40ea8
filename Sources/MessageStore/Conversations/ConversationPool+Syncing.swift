/// Syncs the files in rounds, a few at a time, without holding the pool's lock during a sync.
extension ConversationPool {
    /// Starts a round that contains everything written until now.
    mutating func beginRound() { unsynced.beginRound() }

    /// Returns the next files of the round to sync; the previous ones are on disk by now.
    mutating func nextSyncs(maximum: Int) -> [ConversationSync] {
        unsynced.takeFiles(maximum: maximum).map {
            ConversationSync(path: directory + "/" + $0.path, file: open[$0]?.end.file)
        }
    }

    /// Whether the file at this path must still be synced; false when it was quarantined or replaced meanwhile.
    func awaitsSync(_ path: String) -> Bool {
        unsynced.inFlight.contains { directory + "/" + $0.path == path }
    }

    /// Returns the folders with new names to sync; all files of the round are on disk by now.
    mutating func takeFolders() -> Set<String> { unsynced.takeFolders() }

    /// Ends the round: everything in it is on disk.
    mutating func endRound() { unsynced.endRound() }

    /// Cancels the round: everything in it moves to the next round.
    mutating func cancelRound() { unsynced.cancelRound() }
}
