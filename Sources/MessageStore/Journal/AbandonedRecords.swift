import BalloonJSON

/// The numbers of abandoned records: they do not count, although segments may contain their lines.
///
/// A record is abandoned when its write or its sync failed and its caller got the error, or when a repair
/// removed it.
struct AbandonedRecords: Sendable {
    private(set) var ranges: [ClosedRange<UInt64>] = []

    mutating func insert(_ range: ClosedRange<UInt64>) { ranges.append(range) }

    /// The number of bytes at the start of a segment that contain all of its declarations of abandoned
    /// records.
    static let startBytes = 4096
    /// The maximum number of ranges that one segment declares, so that they fit into ``startBytes``.
    static let maximumRanges = 30

    /// Adds the records that a segment declares abandoned; the declarations follow the segment's first line.
    mutating func insert(fromStartOf segment: [UInt8]) {
        var isFirst = true
        for line in segment.split(separator: UInt8(ascii: "\n"), maxSplits: Self.maximumRanges + 2) {
            let range = Self.range(line)
            if let range { insert(range) } else if !isFirst { return }
            isFirst = false
        }
    }

    private static func range(_ line: ArraySlice<UInt8>) -> ClosedRange<UInt64>? {
        // A line that is not JSON declares no abandoned records.
        guard JournalLine.isIntact(line), let document = try? JSONDocument(Array(line), limits: .journal),
            document.root["type"]?.equals("abandoned") ?? false,
            let from = document.root.record("from"), let to = document.root.record("to"), from <= to
        else { return nil }
        return from...to
    }

    func contains(_ record: UInt64) -> Bool {
        !ranges.isEmpty && ranges.contains { $0.contains(record) }
    }

    /// Returns the parts of `records` that are not abandoned, in ascending order.
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
