import BalloonPOSIX

/// The index of messages in the journal or on their way to it, for the deduplication window.
///
/// It needs 27 to 56 bytes per message, for at most `maximumCount` messages: see ``MessageTable``. The oldest quarter
/// of the messages is dropped at once with its table, so that no caller waits for a search.
struct MessageIndex: Sendable {
    /// The previous state of a claimed message.
    enum Claim: Equatable {
        /// The message was unknown; the claim has marked it as waiting for its sync.
        case absent
        /// The message waits for its sync; its repetition gets the same answer.
        case waiting
        /// The message is on disk.
        case durable
    }

    /// The messages that arrived in a third of the window.
    private struct Generation {
        let began: Timestamp
        /// The record number of each message, ``MessageIndex/waits`` until it is on disk.
        var records = MessageTable()
    }

    /// All generations, the newest first.
    private var generations: [Generation] = []
    private let window: Duration
    /// The time span of one generation.
    private let generationSpan: Duration
    private let maximumCount: Int
    private static let waits = UInt64.max
    /// Three generations cover the window; the oldest is dropped when all of its messages are older than the window.
    private static let maximumGenerations = 4
    private var twins: [MessageKey: [AppendCompletion]] = [:]

    /// Remembers messages for at least `window`, and at most `maximumCount` of them.
    init(window: Duration = .seconds(72 * 3600), maximumCount: Int = 4_000_000) {
        self.window = window
        generationSpan = window / (Self.maximumGenerations - 1)
        self.maximumCount = maximumCount
    }

    /// The number of known messages.
    var count: Int { generations.reduce(0) { $0 + $1.records.count } }

    /// Looks up a message, and marks it as waiting when it is absent.
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

    /// The record number of a message in an older generation than the newest; nil when none of them has the
    /// message.
    private func known(_ key: MessageKey) -> UInt64? {
        for older in generations.dropFirst() {
            if let record = older.records.record(of: key) { return record }
        }
        return nil
    }

    /// Records that a message is on disk; returns the completions of its waiting copies.
    mutating func store(_ key: MessageKey, record: UInt64) -> [AppendCompletion]? {
        // The message is in the newest generation, or in the previous one if that was the newest at the claim.
        for generation in generations.indices
        where generations[generation].records.update(key, record: record) { break }
        return twins.isEmpty ? nil : twins.removeValue(forKey: key)
    }

    /// Removes a message that did not reach the disk; returns the completions of its waiting copies.
    mutating func forget(_ key: MessageKey) -> [AppendCompletion]? {
        for generation in generations.indices { generations[generation].records.remove(key) }
        return twins.isEmpty ? nil : twins.removeValue(forKey: key)
    }

    /// Adds a recovered message; returns the record of an earlier message with the same key.
    mutating func recover(_ key: MessageKey, record: UInt64, at time: Timestamp) -> UInt64? {
        makeRoom(at: time)
        return known(key) ?? generations[0].records.insert(key, record: record)
    }

    /// Adds the messages up to a record to a snapshot, with the limits of the index.
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
                // Messages that wait for their sync are omitted too: their records follow the snapshot.
                guard record <= lastRecord else { return }
                bytes.append(key.high)
                bytes.append(key.low)
                bytes.append(record)
            }
        }
    }

    /// Loads the messages of a snapshot; false when it is damaged or was made with other limits.
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

    /// Removes the messages of segments deleted since a snapshot.
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

    /// Starts a new generation when the newest is full or a third of the window old, and drops the oldest.
    ///
    /// A clock that is set forward drops at most one generation; a clock that is set back drops none.
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
