import BalloonPOSIX

/// Which messages the journal holds or is about to hold, those of the deduplication window.
///
/// 24 bytes per message and the tables' slack: between 32 and 64 bytes, for at most `maximumCount` messages. What is
/// forgotten is forgotten a quarter of them at a time, with a table: nobody waits while one is searched.
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

    /// The messages that came in a third of the window.
    private struct Generation {
        let began: Timestamp
        /// The record number of each message, 0 while it waits.
        var records: [MessageKey: UInt64] = [:]
    }

    /// The newest is the first.
    private var generations: [Generation] = []
    private let window: Duration
    private let maximumCount: Int
    private static let unknown = UInt64.max
    /// Three of them make up the window, so that the oldest goes when all in it is older.
    private static let maximumGenerations = 4
    private var twins: [MessageKey: [AppendCompletion]] = [:]

    /// Takes how long a message is remembered at least, and how many are at most.
    init(window: Duration = .seconds(72 * 3600), maximumCount: Int = 4_000_000) {
        self.window = window
        self.maximumCount = maximumCount
    }

    /// How many messages are known.
    var count: Int { generations.reduce(0) { $0 + $1.records.count } }

    /// Looks a message up, and marks it as waiting when it is absent.
    mutating func claim(_ key: MessageKey, at now: Timestamp, _ completion: @escaping AppendCompletion)
        -> Claim
    {
        makeRoom(at: now)
        var known = Self.unknown
        for older in generations.indices.dropFirst() {
            if let record = generations[older].records[key] { known = record }
        }
        if known == Self.unknown { known = wait(&generations[0].records[key, default: Self.unknown]) }
        switch known {
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
        for generation in generations.indices {
            // It waits in the newest, or in the one before when that began in the meantime.
            if let index = generations[generation].records.index(forKey: key) {
                generations[generation].records.values[index] = record
                break
            }
        }
        return twins.isEmpty ? nil : twins.removeValue(forKey: key)
    }

    /// Forgets a message that did not reach the disk; returns the completions of those that waited with it.
    mutating func forget(_ key: MessageKey) -> [AppendCompletion]? {
        for generation in generations.indices { generations[generation].records[key] = nil }
        return twins.isEmpty ? nil : twins.removeValue(forKey: key)
    }

    /// Notes a message that recovery found; returns the record of the one that was known by that key.
    mutating func recover(_ key: MessageKey, record: UInt64, at time: Timestamp) -> UInt64? {
        makeRoom(at: time)
        for older in generations.indices.dropFirst() {
            if let known = generations[older].records[key] { return known }
        }
        return exchange(&generations[0].records[key, default: Self.unknown], for: record)
    }

    private func exchange(_ known: inout UInt64, for record: UInt64) -> UInt64? {
        guard known == Self.unknown else { return known }
        known = record
        return nil
    }

    /// Begins a generation when the newest is full or a third of the window old, and lets the oldest go.
    ///
    /// A clock that is set forward costs one generation, one that is set back none.
    private mutating func makeRoom(at now: Timestamp) {
        guard let newest = generations.first else { return generations.append(Generation(began: now)) }
        guard
            newest.records.count >= maximumCount / Self.maximumGenerations
                || now >= newest.began.advanced(by: window / (Self.maximumGenerations - 1))
        else { return }
        var next = Generation(began: now)
        // As many will come: growing a table moves all that is in it.
        next.records.reserveCapacity(newest.records.count)
        generations.insert(next, at: 0)
        if generations.count > Self.maximumGenerations { generations.removeLast() }
    }
}
