import BalloonPOSIX

/// The index that detects copies of a message for the time of the deduplication window.
///
/// It has the messages that are in the journal or wait for their sync, at most `maximumCount`, in generations of messages that
/// arrived one after the other. The newest generation is a ``MessageTable``, which needs 27 to 56 bytes for each message. Each
/// snapshot moves older ones to files: see ``KnownMessages``. The oldest generation is dropped as a whole, so that no caller
/// waits for a search.
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

    /// The messages that arrived in a part of the window.
    private struct Generation {
        /// The number of the generation, which is greater than those of older ones.
        let number: UInt64
        let began: Timestamp
        /// The record number of each message; ``MessageIndex/waits`` until the message is on disk.
        ///
        /// It is empty once there is a file.
        var records = MessageTable()
        var file: KnownMessages?

        var count: Int { records.count + (file?.count ?? 0) }

        func record(of key: MessageKey) -> UInt64? { file?.record(of: key) ?? records.record(of: key) }
    }

    /// All generations, the newest first.
    private var generations: [Generation] = []
    private var window: Duration
    private var maximumCount: Int
    /// The folder of the files; nil for an index that is only in memory.
    private let folder: String?
    private static let waits = UInt64.max
    /// The most messages of a generation, unless many more are remembered: larger ones need more memory, and with more of them
    /// each search takes longer.
    private static let generationCount = 262_144
    private var twins: [MessageKey: [AppendCompletion]] = [:]

    /// Creates an index that remembers each message for `window`, or less when `maximumCount` messages are
    /// reached.
    init(window: Duration = .seconds(72 * 3600), maximumCount: Int = 4_000_000, folder: String? = nil) {
        self.window = window
        self.maximumCount = maximumCount
        self.folder = folder
    }

    /// The number of messages after which a generation is full.
    private var generationCount: Int { min(max(Self.generationCount, maximumCount / 16), maximumCount / 4) }

    /// Remembers later messages for `window`, or less when `maximumCount` messages are reached.
    mutating func apply(window: Duration, maximumCount: Int) {
        self.window = window
        self.maximumCount = maximumCount
    }

    /// The number of known messages.
    var count: Int { generations.reduce(0) { $0 + $1.count } }

    /// The number of known messages that are in no file.
    var countInMemory: Int { generations.reduce(0) { $0 + $1.records.count } }

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
            if let record = older.record(of: key) { return record }
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

    /// Moves each generation that gets no more messages to a file; returns the new files by the numbers of their generations.
    ///
    /// A generation stays in memory while one of its messages waits, or has a record after `lastRecord`: a start from the
    /// snapshot reads that record again.
    mutating func moveToFiles(through lastRecord: UInt64) throws(SystemError) -> [UInt64: KnownMessages] {
        guard let folder else { return [:] }
        var files: [UInt64: KnownMessages] = [:]
        for generation in generations.dropFirst() where generation.records.count > 0 {
            var last: UInt64 = 0
            generation.records.forEach { _, record in last = max(last, record) }
            guard last <= lastRecord else { continue }
            files[generation.number] = try KnownMessages.write(
                generation.records, number: generation.number, in: folder)
        }
        adopt(files)
        return files
    }

    /// Replaces the tables of generations with the files to which a copy of the index moved them.
    mutating func adopt(_ files: [UInt64: KnownMessages]) {
        for index in generations.indices {
            guard let file = files[generations[index].number] else { continue }
            generations[index].file = file
            generations[index].records = MessageTable()
        }
    }

    /// The files of the index.
    var files: [KnownMessages] { generations.compactMap(\.file) }

    /// Adds the limits of the index to a snapshot, the numbers of its files, and the other messages whose records are at most
    /// `lastRecord`.
    func encode(to bytes: inout SnapshotEncoder, through lastRecord: UInt64) {
        bytes.append(UInt64(bitPattern: window.components.seconds))
        bytes.append(UInt64(maximumCount))
        bytes.append(generations.reversed()) { bytes, generation in
            bytes.append(generation.number)
            bytes.append(generation.began)
            bytes.append(UInt64(generation.file?.count ?? 0))
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

    /// Loads the messages of a snapshot; throws when the snapshot or one of the files is damaged, or was made with other limits.
    mutating func decode(from bytes: inout SnapshotDecoder) throws {
        guard try bytes.next() == UInt64(bitPattern: window.components.seconds),
            try bytes.next() == UInt64(maximumCount)
        else { throw SnapshotDecoder.Misfit() }
        let folder = folder
        generations = try bytes.list { bytes in
            var generation = Generation(
                number: try bytes.next(), began: try SnapshotDecoder.required(bytes.nextTimestamp()))
            let (inFile, messages) = (try bytes.next(), try bytes.next())
            if inFile > 0 {
                guard let folder, let count = Int(exactly: inFile),
                    let file = KnownMessages(number: generation.number, count: count, in: folder)
                else { throw SnapshotDecoder.Misfit() }
                generation.file = file
            }
            for _ in 0..<messages {
                let key = MessageKey(high: try bytes.next(), low: try bytes.next())
                let record = try bytes.next()
                guard record > 0 else { throw SnapshotDecoder.Misfit() }
                _ = generation.records.insert(key, record: record)
            }
            return generation
        }.reversed()
    }

    /// Removes the messages before this record, because their segments were deleted after the snapshot was
    /// made; of those in files, only whole files.
    mutating func forget(before record: UInt64) {
        for index in generations.indices { generations[index].records.remove(where: { $0 < record }) }
        generations.removeAll { generation in generation.file.map { $0.lastRecord < record } ?? false }
    }

    /// Whether a message is on disk or waits for its sync.
    func knows(_ key: MessageKey) -> Bool { generations.contains { $0.record(of: key) != nil } }

    /// The record of a message; nil when it is unknown or waits for its sync.
    func record(of key: MessageKey) -> UInt64? {
        let record = generations.lazy.compactMap { $0.record(of: key) }.first
        return record == Self.waits ? nil : record
    }

    /// Starts a new generation when the newest one is full, or is older than a third of the window.
    ///
    /// Drops the oldest generations when there would be too many messages, and the oldest one when all of its messages are older
    /// than the window. A clock that is set forward drops at most one generation; a clock that is set back drops none.
    private mutating func makeRoom(at now: Timestamp) {
        guard let newest = generations.first else {
            return generations.append(Generation(number: 1, began: now))
        }
        guard newest.count >= generationCount || now >= newest.began.advanced(by: window / 3) else { return }
        var known = count
        while let oldest = generations.last, known + generationCount > maximumCount {
            known -= oldest.count
            generations.removeLast()
        }
        // The messages of a generation are older than the next one.
        if let next = generations.dropLast().last, now >= next.began.advanced(by: window) {
            generations.removeLast()
        }
        generations.insert(Generation(number: newest.number &+ 1, began: now), at: 0)
    }
}
