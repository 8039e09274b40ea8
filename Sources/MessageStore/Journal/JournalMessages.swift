import BalloonPOSIX

/// The messages that begin in a part of the journal, with their states, and the records about earlier messages.
///
/// All readers beside the running store compute states with this type. The records must be applied in order.
struct JournalMessages: Sendable {
    /// A record about a message that begins before the part.
    struct Change: Sendable {
        let record: JournalRecord
        let number: UInt64
        let location: RecordLocation
    }

    /// The messages, in the order of their records.
    private(set) var list: [JournalState.Message] = []
    /// The records about messages that begin before the part, by message and in order.
    private(set) var earlier: [UInt64: [Change]] = [:]
    private var places: [UInt64: Int] = [:]

    /// Applies a record, which may begin a message and change another one.
    mutating func apply(_ record: JournalRecord, number: UInt64, at location: RecordLocation) {
        var isRepeated = false
        if let changed = record.changes {
            if let place = places[changed] {
                list[place].state.apply(record, number: number, at: location)
                // A second end of the same reply reports nothing.
                isRepeated = record.message == nil && list[place].state.lastEnd != number
            } else {
                earlier[changed, default: []].append(
                    Change(record: record, number: number, location: location))
            }
        }
        guard !isRepeated,
            let begun = JournalState.Message(begunBy: record, number: number, at: location)
        else { return }
        places[number] = list.count
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
    init?(ofCopied changes: [JournalMessages.Change]) {
        var copied: Self?
        for change in changes {
            if copied == nil {
                copied = Self(copiedBy: change.record, at: change.location)
            } else {
                copied?.state.apply(change)
            }
        }
        guard let copied else { return nil }
        self = copied
    }
}

extension MessageState {
    /// Applies a later record.
    mutating func apply(_ change: JournalMessages.Change) {
        apply(change.record, number: change.number, at: change.location)
    }

    /// Whether only replies of the message were copied to a later segment; the message had been handled.
    var isOfRepliesOnly: Bool { isCarried && status == .handled }
}
