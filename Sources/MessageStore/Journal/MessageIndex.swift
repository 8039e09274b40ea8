import BalloonPOSIX

/// The index that detects copies of a message for the time of the deduplication window.
///
/// It has the messages that are in the journal or wait for their sync. It needs 27 to 56 bytes for each
/// message, and has at most `maximumCount` messages: see ``MessageTable``. The oldest quarter of the messages
/// is dropped at once, as one table, so that no caller waits for a search.
struct MessageIndex: Sendable {
    /// The state that a message had before ``claim(_:at:_:)``.
    enum Claim: Equatable {
        /// The message was unknown, and is now marked as waiting for its sync.
        case absent
        /// The message waits for its sync, and the sender of this copy is answered after the sync.
        case waiting
        /// The message is on disk.
        case durable
    }

    /// The messages that arrived in a third of the window.
    private struct Generation {
        let began: Timestamp
        /// The record number of each message; ``MessageIndex/waits`` until the message is on disk.
        var records = MessageTable()
    }

    /// All generations, the newest first.
    private var generations: [Generation] = []
    private var window: Duration
    private var maximumCount: Int
    private static let waits = UInt64.max
    /// The maximum number of generations: the newest one, and three that cover the window.
    private static let maximumGenerations = 4
    private var twins: [MessageKey: [AppendCompletion]] = [:]

    /// Creates an index that remembers each message for `window`, or less when `maximumCount` messages are
    /// reached.
    init(window: Duration = .seconds(72 * 3600), maximumCount: Int = 4_000_000) {
        self.window = window
        self.maximumCount = maximumCount
    }

    /// The time during which one generation gets new messages: a third of the window.
    private var generationSpan: Duration { window / (Self.maximumGenerations - 1) }

    /// Remembers later messages for `window`, or less when `maximumCount` messages are reached.
    mutating func apply(window: Duration, maximumCount: Int) {
        self.window = window
        self.maximumCount = maximumCount
    }

    /// The number of known messages.
    var count: Int { generations.reduce(0) { $0 + $1.records.count } }

    /// Looks up a message; marks it as waiting for its sync when it is absent.
    ///
    /// Keeps `completion` when the message already waits for its sync.
    mutating func claim(_ key: MessageKey, at now: Timestamp, _ completion: @escaping AppendCompletion)
        -> Claim
    {
        makeRoom(at: now)
        switch known(key) ?? generations[0].records.insert(key, record: Self.waits) {
        case nil: return .absent
        case Self.waits:
            twins[key, default: []].append(completion)
            return .waiting
        default: return .durable
        }
    }

    /// Returns the record number of a message in any generation but the newest; nil when the message is not
    /// in them.
    private func known(_ key: MessageKey) -> UInt64? {
        for older in generations.dropFirst() {
            if let record = older.records.record(of: key) { return record }
        }
        return nil
    }

    /// Records that a message is on disk; returns the completions of the copies that arrived meanwhile.
    mutating func store(_ key: MessageKey, record: UInt64) -> [AppendCompletion]? {
        // The message is in the generation that was newest at its claim: the newest one, or by now the one
        // before.
        for generation in generations.indices
        where generations[generation].records.update(key, record: record) { break }
        return twins.isEmpty ? nil : twins.removeValue(forKey: key)
    }

    /// Removes a message that did not reach the disk; returns the completions of the copies that arrived
    /// meanwhile.
    mutating func forget(_ key: MessageKey) -> [AppendCompletion]? {
        for generation in generations.indices { generations[generation].records.remove(key) }
        return twins.isEmpty ? nil : twins.removeValue(forKey: key)
    }

    /// Adds a message during recovery; returns the record of an earlier message with the same key, if there
    /// is one.
    mutating func recover(_ key: MessageKey, record: UInt64, at time: Timestamp) -> UInt64? {
        makeRoom(at: time)
        return known(key) ?? generations[0].records.insert(key, record: record)
    }

    /// Adds the limits of the index to a snapshot, and the messages whose records are at most `lastRecord`.
    func encode(to bytes: inout SnapshotEncoder, through lastRecord: UInt64) {
        bytes.append(UInt64(bitPattern: window.components.seconds))
        bytes.append(UInt64(maximumCount))
        bytes.append(UInt64(generations.count))
        for generation in generations.reversed() {
            bytes.append(generation.began)
            var count: UInt64 = 0
            generation.records.forEach { _, record in if record <= lastRecord { count += 1 } }
            bytes.append(count)
            generation.records.forEach { key, record in
                // This also omits messages that wait for their sync: their records will be later than the
                // snapshot.
                guard record <= lastRecord else { return }
                bytes.append(key.high)
                bytes.append(key.low)
                bytes.append(record)
            }
        }
    }

    /// Loads the messages of a snapshot; false when the snapshot is damaged or was made with other limits.
    mutating func decode(from bytes: inout SnapshotDecoder) -> Bool {
        guard bytes.next() == UInt64(bitPattern: window.components.seconds),
            bytes.next() == UInt64(maximumCount),
            let count = bytes.next(), count <= UInt64(Self.maximumGenerations)
        else { return false }
        for _ in 0..<count {
            guard case .some(.some(let began)) = bytes.nextTimestamp(), let messages = bytes.next() else {
                return false
            }
            var generation = Generation(began: began)
            for _ in 0..<messages {
                guard let high = bytes.next(), let low = bytes.next(), let record = bytes.next(), record > 0
                else { return false }
                _ = generation.records.insert(MessageKey(high: high, low: low), record: record)
            }
            generations.insert(generation, at: 0)
        }
        return true
    }

    /// Removes the messages before this record, because their segments were deleted after the snapshot was
    /// made.
    mutating func forget(before record: UInt64) {
        for index in generations.indices { generations[index].records.remove(where: { $0 < record }) }
    }

    /// Whether a message is on disk or waits for its sync.
    func knows(_ key: MessageKey) -> Bool { generations.contains { $0.records.record(of: key) != nil } }

    /// The record of a message; nil when it is unknown or waits for its sync.
    func record(of key: MessageKey) -> UInt64? {
        let record = generations.lazy.compactMap { $0.records.record(of: key) }.first
        return record == Self.waits ? nil : record
    }

    /// Starts a new generation when the newest one is full, or is older than a third of the window.
    ///
    /// Drops the oldest generation when there are too many. A clock that is set forward drops at most one
    /// generation; a clock that is set back drops none.
    private mutating func makeRoom(at now: Timestamp) {
        guard let newest = generations.first else { return generations.append(Generation(began: now)) }
        guard
            newest.records.count >= maximumCount / Self.maximumGenerations
                || now >= newest.began.advanced(by: generationSpan)
        else { return }
        generations.insert(Generation(began: now), at: 0)
        if generations.count > Self.maximumGenerations { generations.removeLast() }
    }
}
