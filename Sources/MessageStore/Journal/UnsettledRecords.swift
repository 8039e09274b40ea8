/// The messages whose conversation lines may not be on disk, because an earlier process may not have synced
/// them.
struct UnsettledRecords: Sendable {
    private let records: Set<UInt64>
    private let last: UInt64

    /// Creates an empty set.
    init() { (records, last) = ([], 0) }

    /// Creates the set from these messages of an earlier process, and the last record of that process.
    init(_ records: Set<UInt64>, last: UInt64) { (self.records, self.last) = (records, last) }

    /// Whether the set is empty.
    var isEmpty: Bool { records.isEmpty }

    /// Whether the message is in the set, or was received by the current process.
    func contains(_ record: UInt64) -> Bool { record > last || records.contains(record) }
}
