/// The messages whose conversation lines an earlier life may not have brought to disk.
struct UnsettledRecords: Sendable {
    private let records: Set<UInt64>
    private let last: UInt64

    /// None.
    init() { (records, last) = ([], 0) }

    /// Takes the messages, and the last record of that life.
    init(_ records: Set<UInt64>, last: UInt64) { (self.records, self.last) = (records, last) }

    /// Whether there are none.
    var isEmpty: Bool { records.isEmpty }

    /// Whether the message is one of them, or of this life.
    func contains(_ record: UInt64) -> Bool { record > last || records.contains(record) }
}
