/// Something in a data directory that is not as the store wrote it.
package struct StoreProblem: Hashable, Sendable {
    /// What is wrong.
    package enum Kind: String, Sendable {
        /// A line of the journal that must be intact is not.
        case journalDamaged
        /// Records are missing between two segments.
        case journalGap
        /// A segment was set aside at a start, and nobody has decided about it.
        case journalQuarantined
        /// A line of a conversation is not one.
        case conversationDamaged
        /// A conversation's file cannot be read at all: its mode forbids it, or the disk has lost it.
        case conversationUnreadable
        /// A line's number is not the one that follows the line before it.
        case sequenceGap
        /// A line belongs to another conversation.
        case misplaced
        /// A message or reply stands twice in its conversation.
        case repeated
        /// The journal says that a line is on disk, and it is not there.
        case missing
        /// A line says something else than the journal.
        case differs
        /// A line comes from a record that the journal never reached.
        case unknownRecord
        /// A conversation was found damaged and waits to be rebuilt.
        case conversationQuarantined

        /// Whether the journal itself is not what was written.
        var isJournals: Bool {
            switch self {
            case .journalDamaged, .journalGap, .journalQuarantined: true
            case .conversationDamaged, .sequenceGap, .misplaced, .repeated, .missing, .differs,
                .unknownRecord, .conversationUnreadable,
                .conversationQuarantined:
                false
            }
        }

        /// Whether a conversation's file must be written anew; what is only missing at its end is appended.
        var isInFile: Bool {
            switch self {
            case .conversationDamaged, .sequenceGap, .misplaced, .repeated, .differs: true
            case .journalDamaged, .journalGap, .journalQuarantined, .missing, .unknownRecord,
                .conversationUnreadable, .conversationQuarantined:
                false
            }
        }
    }

    /// What is wrong.
    package let kind: Kind
    /// Where.
    package let file: String
    /// Which line, from 1; 0 for the file as a whole.
    package let line: Int
    /// The record that it is about, where there is one.
    package let record: UInt64?

    init(_ kind: Kind, _ file: String, line: Int = 0, record: UInt64? = nil) {
        self.kind = kind
        self.file = file
        self.line = line
        self.record = record
    }
}

extension StoreProblem: CustomStringConvertible {
    /// `FILE:3: the number is not the one that follows (record 12)`.
    package var description: String {
        let reason =
            switch kind {
            case .journalDamaged: "damaged"
            case .journalGap: "records before it are missing"
            case .journalQuarantined: "set aside as damaged; somebody must decide about it"
            case .conversationDamaged: "not a whole line"
            case .conversationUnreadable: "it cannot be read; see to its mode and the disk"
            case .sequenceGap: "the number is not the one that follows"
            case .misplaced: "it belongs to another conversation"
            case .repeated: "it stands there twice"
            case .missing: "a line is missing that the journal says is there"
            case .differs: "it is not what the journal says"
            case .unknownRecord: "the journal never had its record"
            case .conversationQuarantined: "set aside as damaged; it waits to be rebuilt"
            }
        return "\(file)\(line > 0 ? ":\(line)" : ""): \(reason)\(record.map { " (record \($0))" } ?? "")"
    }
}
