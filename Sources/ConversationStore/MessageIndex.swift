/// Which messages the journal holds or is about to hold.
///
/// 24 bytes per message and the table's slack: between 32 and 64 bytes.
struct MessageIndex: Sendable {
    /// What the index knew about a message.
    enum Claim: Equatable {
        /// Nothing; it is waiting from now on.
        case absent
        /// It waits for its sync; the completion will get the same answer.
        case waiting
        /// It is on disk.
        case durable
    }

    /// The record number of each message, 0 while it waits.
    private var records: [MessageKey: UInt64] = [:]
    private static let unknown = UInt64.max
    private var twins: [MessageKey: [AppendCompletion]] = [:]

    /// How many messages are known.
    var count: Int { records.count }

    /// Looks a message up, and marks it as waiting when it is absent.
    mutating func claim(_ key: MessageKey, _ completion: @escaping AppendCompletion) -> Claim {
        switch wait(&records[key, default: Self.unknown]) {
        case Self.unknown: return .absent
        case 0:
            twins[key, default: []].append(completion)
            return .waiting
        default: return .durable
        }
    }

    /// Returns what was there; in place, because the table is large and seldom in the cache.
    private func wait(_ record: inout UInt64) -> UInt64 {
        let known = record
        if known == Self.unknown { record = 0 }
        return known
    }

    /// Notes that a message is on disk; returns the completions of those that waited with it.
    mutating func store(_ key: MessageKey, record: UInt64) -> [AppendCompletion]? {
        records[key] = record
        return twins.isEmpty ? nil : twins.removeValue(forKey: key)
    }

    /// Forgets a message that did not reach the disk; returns the completions of those that waited with it.
    mutating func forget(_ key: MessageKey) -> [AppendCompletion]? {
        records[key] = nil
        return twins.isEmpty ? nil : twins.removeValue(forKey: key)
    }

    /// Notes a message that recovery found; false when it is known already.
    mutating func recover(_ key: MessageKey, record: UInt64) -> Bool {
        guard records[key] == nil else { return false }
        records[key] = record
        return true
    }
}
