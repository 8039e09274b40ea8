import BalloonJSON

/// The records that failed to reach the disk and were answered so, whatever is in the files.
struct AbandonedRecords: Sendable {
    private(set) var ranges: [ClosedRange<UInt64>] = []

    mutating func insert(_ range: ClosedRange<UInt64>) { ranges.append(range) }

    /// Reads what the second line of a segment may say.
    mutating func insert(fromStartOf segment: [UInt8]) {
        for line in segment.split(separator: UInt8(ascii: "\n"), maxSplits: 2).prefix(2) {
            guard JournalLine.isIntact(line), let document = try? JSONDocument(Array(line), limits: .journal),
                document.root["type"]?.equals("abandoned") ?? false,
                let from = document.root.record("from"), let to = document.root.record("to"), from <= to
            else { continue }
            insert(from...to)
        }
    }

    func contains(_ record: UInt64) -> Bool {
        !ranges.isEmpty && ranges.contains { $0.contains(record) }
    }
}
