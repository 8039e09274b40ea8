/// The id of an event, such as `0f3a….57`: the identity of the data directory, a dot, and the event's place.
///
/// The place is the last record of which every event was sent. A restored directory has another identity. A
/// follower with an older place therefore gets `stream.reset`, instead of the events of other records with
/// the same numbers.
enum EventID {
    /// The id of the place, as the token of the numbers sees it.
    static func text(_ place: UInt64, in numbers: RecordNumbers) -> String {
        "\(numbers.store).\(numbers.shown(place) as UInt64)"
    }

    /// Returns the place in an id of this store; nil for an id of another store and for malformed text.
    ///
    /// The text `0`, the beginning of every store, is the place 0.
    static func place(_ id: String, in numbers: RecordNumbers) -> UInt64? {
        if id == "0" { return 0 }
        let store = numbers.store
        guard id.utf8.starts(with: "\(store).".utf8) else { return nil }
        let digits = id.utf8.dropFirst(store.utf8.count + 1)
        let number = digits.allSatisfy { (0x30...0x39).contains($0) } ? UInt64(String(digits) ?? "") : nil
        return number.map(numbers.record)
    }
}
