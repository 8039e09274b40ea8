import BalloonPOSIX

/// The messages that begin in a part of the journal, with their states, and the records about earlier messages.
///
/// All readers beside the running store compute states with this type. The records must be applied in order.
struct JournalMessages: Sendable {
    /// The messages, in the order of their records.
    private(set) var list: [JournalState.Message] = []
    /// The records about messages that begin before the part, by message and in order.
    private(set) var earlier: [UInt64: [LocatedRecord]] = [:]
    private var places: [UInt64: Int] = [:]

    /// Applies a record, which may begin a message and change another one.
    mutating func apply(_ record: LocatedRecord) {
        var isRepeated = false
        if let changed = record.record.changes {
            if let place = places[changed] {
                list[place].state.apply(record)
                // A second end of the same reply reports nothing.
                isRepeated = record.record.message == nil && list[place].state.lastEnd != record.number
            } else {
                earlier[changed, default: []].append(record)
            }
        }
        guard !isRepeated, let begun = JournalState.Message(begunBy: record) else { return }
        places[record.number] = list.count
        list.append(begun)
    }

    /// Drops the messages, and keeps the records about earlier ones.
    mutating func dropList() { (list, places) = ([], [:]) }

    /// The dead letters whose own records were deleted, in order.
    var copied: [JournalState.Message] {
        earlier.sorted { $0.key < $1.key }.compactMap { JournalState.Message(ofCopied: $0.value) }
    }
}

extension JournalState.Message {
    /// Creates a dead letter from its copy and the records after the copy; nil without a copy.
    init?(ofCopied changes: [LocatedRecord]) {
        var copied: Self?
        for change in changes {
            if copied == nil {
                copied = Self(copiedBy: change)
            } else {
                copied?.state.apply(change)
            }
        }
        guard let copied else { return nil }
        self = copied
    }
}

extension MessageState {
    /// Whether only replies of the message were copied to a later segment; the message had been handled.
    var isOfRepliesOnly: Bool { isCarried && status == .handled }
}
