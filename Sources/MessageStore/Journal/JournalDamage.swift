/// What of a journal is lost, and what follows from that until somebody has it repaired.
///
/// A lost record may have been a message, or the end of one. Where the journal shows that the message ended, nothing follows. Else
/// the server is not ready, and the messages that were open then are held back, with their conversations: their ends may be
/// among what is lost.
struct JournalDamage: Sendable {
    /// All that is lost.
    private(set) var losses: [JournalReader.Loss] = []
    /// Segments with lines that nobody wrote, which displaced no record.
    private(set) var blemishes: [UInt64] = []
    /// The lost records that may have been unfinished messages, or the ends of messages.
    private(set) var harmful: [ClosedRange<UInt64>] = []
    /// The conversations whose messages are held back.
    private(set) var held: Set<ConversationKey> = []
    /// Messages that ended behind the first loss.
    private var ended: Set<UInt64> = []

    /// Whether nothing is wrong.
    var isWhole: Bool { losses.isEmpty && blemishes.isEmpty }

    /// Whether somebody must have the journal repaired.
    var isHarmful: Bool { !harmful.isEmpty }

    /// Adds what the reader cannot know.
    mutating func add(_ loss: JournalReader.Loss) { losses.append(loss) }

    /// Takes in a record that stands behind a loss.
    mutating func take(_ record: JournalRecord) {
        if case .finished(let finished) = record { ended.insert(finished.of) }
    }

    /// Decides what is harmful, when all was read.
    mutating func judge(_ reader: JournalReader, openMessages: [RecoveredJournal.Recovered]) {
        losses = (reader.losses + losses).sorted { $0.records.lowerBound < $1.records.lowerBound }
        blemishes = reader.blemishes.map(\.segment)
        let firstOpen = openMessages.map(\.state.record).min() ?? .max
        for loss in losses {
            // So many are not looked at one by one.
            guard loss.records.count <= Self.maximumSingles else {
                harmful.append(loss.records)
                continue
            }
            for record in loss.records where !ended.contains(record) {
                // What says that it was no message can only have ended one that is open.
                if reader.lostNotes.contains(record), record < firstOpen { continue }
                addHarmful(record)
            }
        }
        guard let last = harmful.last?.upperBound else { return }
        held = Set(openMessages.filter { $0.state.record < last }.map(\.conversation))
        ended = []
    }

    private mutating func addHarmful(_ record: UInt64) {
        if let last = harmful.last, last.upperBound + 1 == record {
            harmful[harmful.count - 1] = last.lowerBound...record
        } else {
            harmful.append(record...record)
        }
    }

    private static let maximumSingles = 10_000
}

/// What a repair of the journal gives up, or gave up.
package struct JournalRepair: Hashable, Sendable {
    /// The records that are lost.
    package let lostRecords: [ClosedRange<UInt64>]
    /// The names of the segments with damage.
    package let segments: [String]
    /// How many conversations are held back until then.
    package let heldConversations: Int
    /// Whether something unfinished may be among what is lost.
    package let isHarmful: Bool

    /// Nothing is wrong.
    package var isEmpty: Bool { lostRecords.isEmpty && segments.isEmpty }

    package init(
        lostRecords: [ClosedRange<UInt64>], segments: [String], heldConversations: Int, isHarmful: Bool
    ) {
        self.lostRecords = lostRecords
        self.segments = segments
        self.heldConversations = heldConversations
        self.isHarmful = isHarmful
    }

    /// `7-9, 12`.
    package var recordsText: String {
        lostRecords.prefix(20).map {
            $0.count == 1 ? "\($0.lowerBound)" : "\($0.lowerBound)-\($0.upperBound)"
        }
        .joined(separator: ", ") + (lostRecords.count > 20 ? " and others" : "")
    }
}
