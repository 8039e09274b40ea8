/// The records that a damaged journal has lost, and the conversations that wait for a repair because of them.
///
/// A lost record may have been a message, or the end of a message. A loss is harmless when later records show
/// that the message has ended. Otherwise the server is not ready until a repair. Until then, a conversation
/// is held back when it has a message before the loss that looks unfinished: the end of this message may be
/// lost.
struct JournalDamage: Sendable {
    /// All losses: each is a range of lost records, with its place.
    private(set) var losses: [JournalReader.Loss] = []
    /// The segments that contain invalid lines, but have lost no record.
    private(set) var blemishes: [UInt64] = []
    /// The lost records that may have been unfinished messages, or the ends of messages.
    private(set) var harmful: [ClosedRange<UInt64>] = []
    /// The conversations whose messages are held back until a repair.
    private(set) var held: Set<ConversationKey> = []
    /// The messages whose ends were found after the first loss.
    private var ended: Set<UInt64> = []

    /// Whether the journal is intact.
    var isWhole: Bool { losses.isEmpty && blemishes.isEmpty }

    /// Whether the journal needs a repair.
    var isHarmful: Bool { !harmful.isEmpty }

    /// Adds a loss that the reader cannot detect.
    mutating func add(_ loss: JournalReader.Loss) { losses.append(loss) }

    /// Processes a record that follows a loss.
    ///
    /// A message that such a record finishes needs no repair, even when the message's own record is lost.
    mutating func take(_ record: JournalRecord) {
        if let message = record.finishes { ended.insert(message) }
    }

    /// Determines which lost records need a repair; must be called after the whole journal was read.
    mutating func judge(_ reader: JournalReader, openMessages: [JournalState.Message]) {
        losses = (reader.losses + losses).sorted { $0.records.lowerBound < $1.records.lowerBound }
        blemishes = reader.blemishes.map(\.segment)
        let firstOpen = openMessages.map(\.state.record).min() ?? .max
        for loss in losses {
            // A large loss is not checked record by record: all of its records count as harmful.
            guard loss.records.count <= Self.maximumSingles else {
                harmful.append(loss.records)
                continue
            }
            for record in loss.records where !ended.contains(record) {
                // A lost record that was not a message does harm only if it ended a message that now looks
                // unfinished. This record is earlier than all of these messages, so it ended none of them.
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

/// The result, or the preview, of a journal repair.
package struct JournalRepair: Hashable, Sendable {
    /// A conversation whose deliveries and replies wait for the repair.
    package struct Held: Hashable, Sendable {
        /// The business of the conversation.
        package let business: String
        /// The customer of the conversation.
        package let customer: String
        /// The names of the conversation's first queued replies, such as `57.1`; at most `maximumReplies`.
        package let replies: [String]

        static let maximumReplies = 20
    }

    /// The maximum number of listed conversations.
    static let maximumHeld = 100

    /// The lost records.
    package let lostRecords: [ClosedRange<UInt64>]
    /// The names of damaged segments.
    package let segments: [String]
    /// The names of missing segments.
    package let missingSegments: [String]
    /// The number of conversations held back until the repair.
    package let heldConversations: Int
    /// The first of the held conversations; at most `maximumHeld`.
    package let held: [Held]
    /// Whether the lost records may be unfinished messages, or the ends of messages.
    package let isHarmful: Bool

    /// Whether the journal is intact.
    package var isEmpty: Bool { lostRecords.isEmpty && segments.isEmpty }

    package init(
        lostRecords: [ClosedRange<UInt64>], segments: [String], missingSegments: [String] = [],
        heldConversations: Int, held: [Held] = [], isHarmful: Bool
    ) {
        self.missingSegments = missingSegments
        self.held = held
        self.lostRecords = lostRecords
        self.segments = segments
        self.heldConversations = heldConversations
        self.isHarmful = isHarmful
    }

    /// The numbers of the lost records as text, such as `7-9, 12`; at most 20 ranges.
    package var recordsText: String {
        lostRecords.prefix(20).map {
            $0.count == 1 ? "\($0.lowerBound)" : "\($0.lowerBound)-\($0.upperBound)"
        }
        .joined(separator: ", ") + (lostRecords.count > 20 ? " and others" : "")
    }
}
