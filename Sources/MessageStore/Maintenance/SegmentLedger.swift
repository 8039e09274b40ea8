import BalloonPOSIX
import BusinessMessages

/// Counts, for each segment of the journal, what still needs the segment.
///
/// A segment that nothing needs may be deleted. A record refers only to earlier records, so segments are
/// deleted from the oldest on, and never one in the middle. The ledger is a value without side effects.
struct SegmentLedger: Sendable {
    /// A segment with its counts.
    struct Segment: Sendable {
        /// The number of the segment's first record.
        let first: UInt64
        /// The latest arrival time of a message in this segment or an earlier one; the segment's age counts
        /// from this time.
        var newest: Timestamp
        /// The number of unfinished deliveries and replies of the segment's messages.
        var open = 0
        /// The newest record that ended a delivery or a reply of this segment's messages.
        var lastEnd: UInt64 = 0
    }

    /// All segments, the oldest first.
    private(set) var segments: [Segment] = []
    /// The last record whose conversation lines are on disk.
    private(set) var checkpoint: UInt64 = 0
    /// The place and business of each dead letter that waits for a decision.
    private(set) var deadLetters: [DeadLetter: DeadLetterPlace] = [:]
    /// The number of dead letters of each business.
    private(set) var deadLetterCounts: [BusinessID: Int] = [:]

    /// Adds a segment if it is new; `at` is the arrival time of a message in the segment, nil for other
    /// records.
    mutating func begin(_ segment: UInt64, at: Timestamp?) {
        if let last = segments.indices.last, segments[last].first == segment {
            if let at { segments[last].newest = max(segments[last].newest, at) }
            return
        }
        let before = segments.last?.newest ?? Timestamp(milliseconds: 0)
        segments.append(Segment(first: segment, newest: max(before, at ?? before)))
    }

    /// Replaces times after `now` by `now`: a clock that was ahead once must not keep segments for years.
    mutating func limitAges(to now: Timestamp) {
        for index in segments.indices { segments[index].newest = min(segments[index].newest, now) }
    }

    /// Adds unfinished deliveries or replies to the count of their message's segment.
    mutating func recordOpen(_ count: Int, in segment: UInt64) {
        guard let index = index(of: segment) else { return }
        segments[index].open += count
    }

    /// Counts the end of a delivery or a reply of a message in `segment`; `record` ended it.
    ///
    /// `business` is the message's business.
    mutating func recordEnd(
        in segment: UInt64, deadLetter: DeadLetter?, of business: BusinessID, by record: UInt64
    ) {
        guard let index = index(of: segment) else { return }
        segments[index].open -= 1
        segments[index].lastEnd = max(segments[index].lastEnd, record)
        if let deadLetter { recordDeadLetter(deadLetter, of: business, in: segment) }
    }

    /// Removes a dead letter that was retried or dropped.
    mutating func recordDecision(about letter: DeadLetter) {
        guard let place = deadLetters.removeValue(forKey: letter) else { return }
        let count = deadLetterCounts[place.business, default: 0] - 1
        deadLetterCounts[place.business] = count > 0 ? count : nil
    }

    /// Adds a dead letter, or records that a dead letter was copied to this segment.
    mutating func recordDeadLetter(_ letter: DeadLetter, of business: BusinessID, in segment: UInt64) {
        guard deadLetters[letter] == nil else {
            deadLetters[letter]?.segment = segment
            return
        }
        deadLetterCounts[business, default: 0] += 1
        // All dead letters of a business share the text of one dictionary key, to save memory.
        let shared = deadLetterCounts.index(forKey: business).map { deadLetterCounts.keys[$0] } ?? business
        deadLetters[letter] = DeadLetterPlace(segment: segment, business: shared)
    }

    /// Records the last record whose conversation lines are on disk.
    mutating func recordCheckpoint(through record: UInt64) { checkpoint = max(checkpoint, record) }

    /// Returns the oldest segments that can be deleted after their dead letters were copied.
    ///
    /// All their messages and replies have ended, the conversation lines are on disk, and the messages are
    /// older than the window. The last segment is never among them, because it determines the next record
    /// number.
    func expired(at now: Timestamp, window: Duration) -> ArraySlice<Segment> {
        segments.dropLast().prefix { segment in
            segment.open == 0 && segment.lastEnd <= checkpoint
                && segment.newest.advanced(by: window) < now
        }
    }

    /// Whether a delivery or a reply has ended since the last checkpoint.
    var hasUncheckedEnd: Bool { segments.contains { $0.lastEnd > checkpoint } }

    /// Whether the oldest segment could be deleted if a checkpoint were made.
    func awaitsCheckpoint(at now: Timestamp, window: Duration) -> Bool {
        guard let oldest = segments.dropLast().first else { return false }
        return oldest.open == 0 && oldest.lastEnd > checkpoint
            && oldest.newest.advanced(by: window) < now
    }

    /// The dead letters in these segments, in the order of their records.
    func deadLetters(in expired: ArraySlice<Segment>) -> [DeadLetter] {
        guard let last = expired.last else { return [] }
        return deadLetters.filter { $0.value.segment <= last.first }.map(\.key).sorted()
    }

    /// Removes a segment.
    mutating func remove(_ segment: UInt64) { segments.removeAll { $0.first == segment } }

    private func index(of segment: UInt64) -> Int? {
        let index = segments.indices.partitioningIndex { segments[$0].first >= segment }
        return index < segments.count && segments[index].first == segment ? index : nil
    }
}

extension SegmentLedger {
    /// Adds the ledger to a snapshot.
    func encode(to bytes: inout SnapshotEncoder) {
        bytes.append(checkpoint)
        bytes.append(segments) { bytes, segment in
            bytes.append(segment.first)
            bytes.append(segment.newest)
            bytes.append(UInt64(max(0, segment.open)))
            bytes.append(segment.lastEnd)
        }
        bytes.append(deadLetters.sorted { $0.key < $1.key }) { bytes, letter in
            bytes.append(letter.key.record)
            // 0 stands for the event itself, 1 for its first reply.
            bytes.append(UInt64((letter.key.reply ?? -1) + 1))
            bytes.append(letter.value.segment)
            bytes.append(letter.value.business.rawValue)
        }
    }

    /// Loads the ledger from a snapshot; throws when the snapshot is damaged.
    init(_ bytes: inout SnapshotDecoder) throws {
        checkpoint = try bytes.next()
        segments = try bytes.list { bytes in
            Segment(
                first: try bytes.next(), newest: try SnapshotDecoder.required(bytes.nextTimestamp()),
                open: Int(clamping: try bytes.next()), lastEnd: try bytes.next())
        }
        let letters = try bytes.list { bytes in
            let (record, reply, segment) = (try bytes.next(), try bytes.next(), try bytes.next())
            return (
                letter: DeadLetter(record, reply: reply == 0 ? nil : Int(clamping: reply - 1)),
                segment: segment,
                business: BusinessID(try bytes.nextText())
            )
        }
        for (letter, segment, business) in letters { recordDeadLetter(letter, of: business, in: segment) }
    }

    /// Removes the segments before this one.
    mutating func remove(before segment: UInt64) { segments.removeAll { $0.first < segment } }
}

/// The name of a dead letter: an event, or one of its replies.
struct DeadLetter: Hashable, Comparable, Sendable {
    let record: UInt64
    /// The reply's index; nil for the event itself.
    let reply: Int?

    init(_ record: UInt64, reply: Int?) {
        self.record = record
        self.reply = reply
    }

    static func < (left: DeadLetter, right: DeadLetter) -> Bool {
        (left.record, left.reply ?? -1) < (right.record, right.reply ?? -1)
    }
}

/// The place of a dead letter in the journal, with its business.
struct DeadLetterPlace: Hashable, Sendable {
    /// The segment of the message, or of the dead letter's copy when the message's segment was deleted.
    fileprivate(set) var segment: UInt64
    let business: BusinessID
}
