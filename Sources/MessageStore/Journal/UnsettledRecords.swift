/// The messages whose conversation lines an earlier process may not have synced.
struct UnsettledRecords: Sendable {
    private let records: Set<UInt64>
    private let last: UInt64

    /// Creates an empty set.
    init() { (records, last) = ([], 0) }

    /// Creates the set from the messages and the last record of the earlier process.
    init(_ records: Set<UInt64>, last: UInt64) { (self.records, self.last) = (records, last) }

    /// Whether the set is empty.
    var isEmpty: Bool { records.isEmpty }

    /// Whether the message is in the set, or was received by this process.
    func contains(_ record: UInt64) -> Bool { record > last || records.contains(record) }
}
