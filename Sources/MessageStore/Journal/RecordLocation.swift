/// The place of a record's line in the journal.
///
/// Places are used in memory and in snapshots; all other files refer to records by number.
struct RecordLocation: Hashable, Sendable {
    /// The segment, as the number of its first record.
    let segment: UInt64
    /// The offset of the line in the segment.
    let offset: UInt32
    /// The line's length without its line feed.
    let lengthBytes: UInt32

    /// The offset after the line's line feed.
    var endBytes: Int { Int(offset) + Int(lengthBytes) + 1 }
}

/// A record of the journal, with its number and its place.
struct LocatedRecord: Sendable {
    let record: JournalRecord
    let number: UInt64
    let location: RecordLocation
}

/// A record that is on disk.
struct JournalledRecord: Hashable, Sendable {
    let number: UInt64
    let location: RecordLocation
}
