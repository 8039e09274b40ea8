/// A problem in a data directory: something differs from what the store wrote.
package struct StoreProblem: Hashable, Sendable {
    /// The kind of problem.
    package enum Kind: String, Sendable {
        /// A complete line of the journal is damaged.
        case journalDamaged
        /// A segment is missing, or has no valid line.
        case journalGap
        /// A segment was quarantined at a start, and an operator has not repaired or removed it.
        case journalQuarantined
        /// A line of a conversation is invalid.
        case conversationDamaged
        /// A conversation's file is unreadable: its mode forbids it, or the disk lost it.
        case conversationUnreadable
        /// A line's number does not follow the previous line's.
        case sequenceGap
        /// A line belongs to another conversation.
        case misplaced
        /// A message or reply occurs twice in its conversation.
        case repeated
        /// A conversation's file lacks a line that the journal contains.
        case missing
        /// A line differs from the journal.
        case differs
        /// A line refers to a record beyond the journal's last.
        case unknownRecord
        /// A conversation is quarantined because of damage.
        case conversationQuarantined
        /// The index of conversations has a wrong entry for a conversation, or lacks its entry.
        case indexDiffers
        /// The file of the index of conversations is damaged or outdated, or belongs to another data
        /// directory.
        case indexUnusable

        /// The file of an open request is damaged, or its name is not the name of a request.
        case requestDamaged

        /// Whether the journal itself is damaged.
        var isJournals: Bool {
            [.journalDamaged, .journalGap, .journalQuarantined].contains(self)
        }

        /// Whether a conversation's file must be rewritten; missing lines alone are appended.
        var isInFile: Bool {
            [.conversationDamaged, .sequenceGap, .misplaced, .repeated, .differs].contains(self)
        }
    }

    /// The kind of problem.
    package let kind: Kind
    /// The path of the file with the problem.
    package let file: String
    /// The line, from 1; 0 for the file as a whole.
    package let line: Int
    /// The record of the line, if it has one.
    package let record: UInt64?

    init(_ kind: Kind, _ file: String, line: Int = 0, record: UInt64? = nil) {
        self.kind = kind
        self.file = file
        self.line = line
        self.record = record
    }
}

extension StoreProblem: CustomStringConvertible {
    /// The problem as a line of text: `FILE:3: the line number does not follow the previous one (record 12)`.
    package var description: String {
        let reason =
            switch kind {
            case .journalDamaged: "damaged"
            case .journalGap: "missing, with all records up to the next journal file"
            case .journalQuarantined: "quarantined because of damage; repair or remove it"
            case .conversationDamaged: "invalid line"
            case .conversationUnreadable: "unreadable; check its mode and the disk"
            case .sequenceGap: "the line number does not follow the previous one"
            case .misplaced: "the line belongs to another conversation"
            case .repeated: "the line occurs twice"
            case .missing: "a line of the journal is missing"
            case .differs: "the line differs from the journal"
            case .unknownRecord: "the line's record is not in the journal"
            case .conversationQuarantined: "quarantined because of damage; rebuild it"
            case .indexDiffers: "its entry in the index of conversations is wrong or missing; rebuild it"
            case .indexUnusable: "the index of conversations is unusable; the next start builds it anew"
            case .requestDamaged: "no request to sign in or to pay; remove it"
            }
        return "\(file)\(line > 0 ? ":\(line)" : ""): \(reason)\(record.map { " (record \($0))" } ?? "")"
    }
}
