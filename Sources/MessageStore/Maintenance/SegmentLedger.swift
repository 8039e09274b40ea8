import BalloonPOSIX

/// What each segment of the journal is still needed for.
///
/// A value without effects. Records refer to earlier ones only, so the oldest segments may go and leave nothing that
/// is misunderstood; one in the middle never may.
struct SegmentLedger: Sendable {
    /// A segment and what was written to it.
    struct Segment: Sendable {
        /// The number of its first record.
        let first: UInt64
        /// When something was last written to it that must be remembered, or to one before it.
        var newest: Timestamp
        /// How many of its messages are not finished.
        var unfinished = 0
        /// The last of the records by which its messages were finished.
        var lastEnd: UInt64 = 0
    }

    /// The oldest is the first.
    private(set) var segments: [Segment] = []
    /// How far conversations are on disk.
    private(set) var checkpoint: UInt64 = 0
    /// The segment of each dead letter that nobody has decided about.
    private(set) var deadLetters: [UInt64: UInt64] = [:]

    /// Notes a segment, and that something was written to it.
    mutating func begin(_ segment: UInt64, at: Timestamp?) {
        if let last = segments.indices.last, segments[last].first == segment {
            if let at { segments[last].newest = max(segments[last].newest, at) }
            return
        }
        let before = segments.last?.newest ?? Timestamp(milliseconds: 0)
        segments.append(Segment(first: segment, newest: max(before, at ?? before)))
    }

    /// Takes what claims to be younger than `now` to be as young as can be: a clock that ran ahead once must not hold
    /// segments for years.
    mutating func limitAges(to now: Timestamp) {
        for index in segments.indices { segments[index].newest = min(segments[index].newest, now) }
    }

    /// Notes a message that must be finished.
    mutating func noteMessage(in segment: UInt64) {
        guard let index = index(of: segment) else { return }
        segments[index].unfinished += 1
    }

    /// Notes the end of a message that was noted.
    mutating func note(_ ended: EndedDelivery, by record: UInt64) {
        guard let index = index(of: ended.segment) else { return }
        segments[index].unfinished -= 1
        segments[index].lastEnd = max(segments[index].lastEnd, record)
        if ended.isDeadLetter { deadLetters[ended.record] = ended.segment }
    }

    /// Notes that a dead letter is none any more.
    mutating func noteDecision(about record: UInt64) { deadLetters[record] = nil }

    /// Notes that a dead letter stands in a later segment as well; whether it was one still.
    @discardableResult
    mutating func noteCarried(_ record: UInt64, in segment: UInt64) -> Bool {
        deadLetters.updateValue(segment, forKey: record) != nil
    }

    /// Notes how far conversations are on disk.
    mutating func noteCheckpoint(through record: UInt64) { checkpoint = max(checkpoint, record) }

    /// The oldest segments that nothing needs, dead letters aside; never the last, which knows the next number.
    ///
    /// All in them is finished, its conversations are on disk, and it is older than the window.
    func expired(at now: Timestamp, window: Duration) -> ArraySlice<Segment> {
        segments.dropLast().prefix { segment in
            segment.unfinished == 0 && segment.lastEnd <= checkpoint
                && segment.newest.advanced(by: window) < now
        }
    }

    /// Whether nothing but a checkpoint is missing for the oldest segment to go.
    func awaitsCheckpoint(at now: Timestamp, window: Duration) -> Bool {
        guard let oldest = segments.dropLast().first else { return false }
        return oldest.unfinished == 0 && oldest.lastEnd > checkpoint
            && oldest.newest.advanced(by: window) < now
    }

    /// The dead letters in these segments, in the order of their records.
    func deadLetters(in expired: ArraySlice<Segment>) -> [UInt64] {
        guard let last = expired.last else { return [] }
        return deadLetters.filter { $0.value <= last.first }.map(\.key).sorted()
    }

    /// Forgets a segment.
    mutating func remove(_ segment: UInt64) { segments.removeAll { $0.first == segment } }

    private func index(of segment: UInt64) -> Int? {
        var low = 0
        var high = segments.count
        while low < high {
            let middle = (low + high) / 2
            if segments[middle].first < segment { low = middle + 1 } else { high = middle }
        }
        return low < segments.count && segments[low].first == segment ? low : nil
    }
}

/// A delivery that came to an end.
struct EndedDelivery: Sendable {
    let record: UInt64
    /// The segment of the message's record.
    let segment: UInt64
    let isDeadLetter: Bool
}
