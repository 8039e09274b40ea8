import BalloonJSON

/// The records that are not in the journal whatever is in the files: those that failed to reach the disk and were answered so,
/// and those that a repair gave up.
struct AbandonedRecords: Sendable {
    private(set) var ranges: [ClosedRange<UInt64>] = []

    mutating func insert(_ range: ClosedRange<UInt64>) { ranges.append(range) }

    /// How many bytes of a segment's start are read for this.
    static let startBytes = 4096
    /// How many ranges one segment says, so that they are in its start.
    static let maximumRanges = 30

    /// Reads what the lines behind a segment's first may say.
    mutating func insert(fromStartOf segment: [UInt8]) {
        var isFirst = true
        for line in segment.split(separator: UInt8(ascii: "\n"), maxSplits: Self.maximumRanges + 2) {
            let range = Self.range(line)
            if let range { insert(range) } else if !isFirst { return }
            isFirst = false
        }
    }

    private static func range(_ line: ArraySlice<UInt8>) -> ClosedRange<UInt64>? {
        // What is no JSON says nothing.
        guard JournalLine.isIntact(line), let document = try? JSONDocument(Array(line), limits: .journal),
            document.root["type"]?.equals("abandoned") ?? false,
            let from = document.root.record("from"), let to = document.root.record("to"), from <= to
        else { return nil }
        return from...to
    }

    func contains(_ record: UInt64) -> Bool {
        !ranges.isEmpty && ranges.contains { $0.contains(record) }
    }

    /// The parts of `records` that are not abandoned, in their order.
    func remaining(in records: ClosedRange<UInt64>) -> [ClosedRange<UInt64>] {
        var remaining: [ClosedRange<UInt64>] = []
        var next = records.lowerBound
        for range in ranges.sorted(by: { $0.lowerBound < $1.lowerBound })
        where range.upperBound >= next && range.lowerBound <= records.upperBound {
            if range.lowerBound > next { remaining.append(next...range.lowerBound - 1) }
            next = range.upperBound + 1
        }
        if next <= records.upperBound { remaining.append(next...records.upperBound) }
        return remaining
    }
}
