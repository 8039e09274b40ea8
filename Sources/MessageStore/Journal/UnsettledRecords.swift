/// The messages whose conversation lines an earlier life may not have brought to disk.
struct UnsettledRecords: Sendable {
    private let records: Set<UInt64>
    private let last: UInt64

    /// None.
    init() { (records, last) = ([], 0) }

    /// Takes the messages, and the last record of that life.
    init(_ records: Set<UInt64>, last: UInt64) { (self.records, self.last) = (records, last) }

    /// Whether a power cut explains what is damaged: behind it are only lines that were not synced, or are new, and no
    /// more is broken than is written again now, or was on its way.
    func explain(_ repair: ConversationRepair) -> Bool {
        !records.isEmpty && repair.broken <= repair.restored + 1
            && repair.behindDamage.allSatisfy { $0 > last || records.contains($0) }
    }
}
