/// The id of an event: the identity of the data directory, a dot, and the place of the event, such as `0f3a….57`.
///
/// A restored directory has another identity, so that a follower with an older place gets `stream.reset`, instead of the events
/// of other records with the same numbers.
enum EventID {
    /// The id of the place in the store with this identity.
    static func text(_ place: UInt64, in store: String) -> String { "\(store).\(place)" }

    /// The place in an id of this store, and 0 for the text `0`, the beginning of every store; nil for another store's id, and
    /// for any other text.
    static func place(_ id: String, in store: String) -> UInt64? {
        if id == "0" { return 0 }
        guard id.utf8.starts(with: "\(store).".utf8) else { return nil }
        let digits = id.utf8.dropFirst(store.utf8.count + 1)
        return digits.allSatisfy { (0x30...0x39).contains($0) } ? UInt64(String(digits) ?? "") : nil
    }
}
