/// Syncs the files in rounds, a few at a time, without holding the pool's lock during a sync.
extension ConversationPool {
    /// Starts a round that contains everything written until now.
    mutating func beginRound() { unsynced.beginRound() }

    /// Returns the next batch of the round.
    ///
    /// By calling this function, the caller confirms that the previous batch is on disk.
    mutating func nextSyncs(maximum: Int) -> [ConversationSync] {
        unsynced.takeFiles(maximum: maximum).map {
            ConversationSync(path: directory + "/" + $0.path, file: open[$0]?.end.file)
        }
    }

    /// Returns whether the file at this path still awaits a sync; false once it is quarantined or replaced.
    func awaitsSync(_ path: String) -> Bool {
        unsynced.inFlight.contains { directory + "/" + $0.path == path }
    }

    /// Returns the folders with new names to sync; a call says that all files of the round are on disk.
    mutating func takeFolders() -> Set<String> { unsynced.takeFolders() }

    /// Ends the round: everything in it is on disk.
    mutating func endRound() { unsynced.endRound() }

    /// Cancels the round: everything in it moves to the next round.
    mutating func cancelRound() { unsynced.cancelRound() }
}
