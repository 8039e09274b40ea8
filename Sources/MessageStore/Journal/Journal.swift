import BalloonMetrics
import BalloonPOSIX
import Dispatch
import Synchronization

/// The only writer of the journal.
///
/// All records that arrive during a sync form the next batch, with one write and one sync. Entries may be
/// appended from any thread without blocking. Batches are written on a serial queue, which also reports the
/// result of a batch before it writes the next one.
final class Journal: Sendable {
    /// The result of a batch.
    enum BatchResult: Sendable {
        /// The entries are on disk, as these records in the same order.
        case durable([JournalledRecord])
        /// None of the entries is in the journal.
        case failed(StoreError)
    }

    /// A request for a flush or for a new segment, with the completion of its caller.
    fileprivate struct Request: Sendable {
        /// Ends the current segment if the request asks for that; returns whether a new one must be written.
        let begin: @Sendable (inout JournalWriter) -> Bool
        let completion: @Sendable () -> Void
    }

    fileprivate struct Waiting {
        var entries: [JournalEntry] = []
        /// The entries of the batch that is being written, until its result was reported.
        var inFlight: [JournalEntry] = []
        var requests: [Request] = []
        var bytes = 0
        /// The number of waiting entries whose callers wait for the result.
        var urgent = 0
        var isScheduled = false
        var isFlushArmed = false
        var isProbeArmed = false
        var isClosed = false
        var lastFailure: SystemError?
        /// The last failed batch, also after a success.
        var failed: (at: ContinuousClock.Instant, error: SystemError)?
        /// The number of the last record on disk.
        var lastRecord: UInt64
    }

    private let queue = DispatchQueue(label: "balloon.journal")
    private let waiting: Mutex<Waiting>
    private let writer: Mutex<JournalWriter>
    private let maximumWaitingBytes: Int
    private let lazyDelay: Duration
    private let probeInterval: Duration
    private let settle: @Sendable ([JournalEntry], BatchResult) -> Void
    /// The durations of all batches, including failed ones; each is the time of a write and a sync.
    let commitDurations = Histogram(.nanoseconds)
    /// The number of records of each batch.
    let batchSizes = Histogram(.counts)

    /// Creates a journal; `settle` is called on the journal's queue with the result of every batch.
    init(
        _ writer: sending JournalWriter, configuration: StoreConfiguration,
        settle: @escaping @Sendable ([JournalEntry], BatchResult) -> Void
    ) {
        waiting = Mutex(Waiting(lastRecord: writer.lastRecord))
        self.writer = Mutex(writer)
        maximumWaitingBytes = configuration.maximumWaitingBytes
        lazyDelay = configuration.lazyDelay
        probeInterval = configuration.probeInterval
        self.settle = settle
    }

    /// Appends a record.
    ///
    /// Throws ``StoreError/closed``, and ``StoreError/overloaded`` when too many bytes wait, which only an
    /// inbound message can cause. After an error, `waiter` gets no result. A record with `isPrompt` set to
    /// false may wait until ``begin()`` is called.
    func append(
        _ record: AppendedRecord, for waiter: JournalEntry.Waiter, isPrompt: Bool = true
    ) throws(StoreError) {
        try append(JournalEntry(record: record, waiter: waiter), isPrompt: isPrompt)
    }

    /// Starts writing the records that were appended with `isPrompt` set to false.
    func begin() {
        let schedules = waiting.withLock { waiting in
            guard waiting.urgent > 0, !waiting.isScheduled else { return false }
            waiting.isScheduled = true
            return true
        }
        if schedules { queue.async { self.drain() } }
    }

    /// The number of waiting records at which writing starts without a call of ``begin()``.
    private static let fullBatchCount = 32

    /// Appends a record, and `others` in the same batch; throws like ``append(_:for:isPrompt:)``.
    ///
    /// Also throws ``AssignmentRefusal/closed`` for an assignment to a person, or for a handoff that waits
    /// for one, after the customer closed the conversation. Only a close that is not on disk yet is checked
    /// here.
    func append(
        _ entry: JournalEntry, with others: [JournalEntry] = [], isPrompt: Bool = true
    ) throws(StoreError) {
        let limit = maximumWaitingBytes
        let (refusal, schedules, arms) = waiting.withLock { waiting -> (StoreError?, Bool, Bool) in
            if waiting.isClosed { return (.closed, false, false) }
            if let assigned = entry.record.meaning.assigns, waiting.isClosing(assigned) {
                return (.assignment(.closed), false, false)
            }
            if case .sender = entry.waiter, waiting.bytes + entry.body.count > limit {
                return (.overloaded, false, false)
            }
            waiting.add(entry)
            // The other records are added under the same lock, so that all of them are in one batch.
            for other in others { waiting.add(other) }
            if entry.isLazy {
                let arms = !waiting.isFlushArmed && !waiting.isScheduled
                if arms { waiting.isFlushArmed = true }
                return (nil, false, arms)
            }
            let schedules = !waiting.isScheduled && (isPrompt || waiting.urgent >= Self.fullBatchCount)
            if schedules { waiting.isScheduled = true }
            return (nil, schedules, false)
        }
        if let refusal { throw refusal }
        if schedules { queue.async { self.drain() } }
        if arms { armLazy() }
    }

    /// Appends a record and waits until it is on disk.
    func append(_ record: AppendedRecord) async throws -> JournalledRecord {
        try await withCheckedThrowingContinuation { continuation in
            do { try append(record, for: .completion { continuation.resume(with: $0) }) } catch {
                continuation.resume(throwing: error)
            }
        }
    }

    /// Appends several records in one batch, and waits until they are on disk.
    ///
    /// After an error, none of them is in the journal.
    func append(_ records: [AppendedRecord]) async throws -> [JournalledRecord] {
        guard let first = records.first else { return [] }
        return try await withCheckedThrowingContinuation { continuation in
            let entry = JournalEntry(
                record: first, waiter: .several(count: records.count) { continuation.resume(with: $0) })
            let others = records.dropFirst().map { JournalEntry(record: $0, waiter: .same) }
            do { try append(entry, with: others) } catch { continuation.resume(throwing: error) }
        }
    }

    /// Starts a new segment when the current one is too old.
    ///
    /// Waits for at most two syncs, like ``flush()``.
    func rotate() async {
        await withCheckedContinuation { continuation in rotate { continuation.resume() } }
    }

    /// Starts a new segment, unless the current segment has no records.
    ///
    /// When this returns, every record that was on disk before the call is in an ended segment.
    func endSegment() async {
        await withCheckedContinuation { continuation in
            request(Request(begin: { $0.endIfUsed() }, completion: { continuation.resume() }))
        }
    }

    /// Writes all waiting records, and waits until they are on disk or their batch has failed.
    ///
    /// This includes lazy records, which no caller waits for. It waits for at most two syncs, regardless of
    /// new records: the sync of the current batch and that of the next batch, which includes all waiting
    /// records.
    func flush() async {
        await withCheckedContinuation { continuation in flush { continuation.resume() } }
    }

    /// Requests a new segment if the current one is too old, and returns at once.
    ///
    /// The completion runs on the journal's queue.
    func rotate(completion: @escaping @Sendable () -> Void) {
        request(Request(begin: { $0.endIfOld() }, completion: completion))
    }

    /// Requests that all waiting records are written, and returns at once.
    ///
    /// The completion runs on the journal's queue.
    func flush(completion: @escaping @Sendable () -> Void) {
        request(Request(begin: { _ in false }, completion: completion))
    }

    /// Declares these records abandoned at the start of new segments, and waits until the declarations are on
    /// disk.
    func abandon(_ records: [ClosedRange<UInt64>]) async throws(StoreError) {
        for start in stride(from: 0, to: records.count, by: AbandonedRecords.maximumRanges - 1) {
            let some = Array(records[start..<min(start + AbandonedRecords.maximumRanges - 1, records.count)])
            await withCheckedContinuation { continuation in
                request(
                    Request(
                        begin: {
                            $0.declare(some)
                            return true
                        }, completion: { continuation.resume() }))
            }
            if writer.withLock({ $0.withdraw() }) {
                throw .notDurable(lastFailure ?? SystemError("fdatasync", code: 5))
            }
        }
    }

    private func request(_ request: Request) {
        let schedules = waiting.withLock { waiting in
            waiting.requests.append(request)
            defer { waiting.isScheduled = true }
            return !waiting.isScheduled
        }
        if schedules { queue.async { self.drain() } }
    }

    /// Accepts no more records, writes the waiting ones, and returns when the writer is idle.
    func close() async {
        waiting.withLock { $0.isClosed = true }
        await flush()
        await queue.run { self.writer.withLock { $0.end() } }
    }

    /// Returns when the queue has completed its current work, including preallocation.
    func rest() async { await queue.run {} }

    /// The segments from this one on, each with the end of its last record; called on the journal's queue.
    func segmentEnds(from first: UInt64) -> [JournalSnapshot.End] {
        writer.withLock { writer in
            writer.removeEnds(before: first)
            return writer.ends
        }
    }

    /// The number of bytes that wait for a sync, including those of the current batch.
    var waitingBytes: Int { waiting.withLock { $0.bytes } }

    /// The error of the last batch; nil after a success.
    var lastFailure: SystemError? { waiting.withLock { $0.lastFailure } }

    /// The error of the last batch that failed within this time, even if a later batch succeeded.
    func failure(within time: Duration) -> SystemError? {
        waiting.withLock { waiting in waiting.failed.flatMap { .now - $0.at < time ? $0.error : nil } }
    }

    /// The number of the last record on disk.
    var lastRecord: UInt64 { waiting.withLock { $0.lastRecord } }

    /// Writes batches until no caller waits, and completes the requests between them.
    private func drain() {
        while let (entries, requests) = waiting.withLock({ $0.nextBatch() }) {
            // Every request is begun, also when an earlier one ended the segment.
            let isRotated = writer.withLock { writer in
                requests.reduce(false) { isRotated, request in request.begin(&writer) || isRotated }
            }
            // A new segment is written even without records, so that its first lines are on disk.
            if isRotated || !entries.isEmpty { commit(entries) }
            for request in requests { request.completion() }
        }
        rearm()
        prepare()
    }

    /// Preallocates the segment when no caller waits; a caller that arrives meanwhile waits until this ends.
    private func prepare() {
        guard waiting.withLock({ !$0.isClosed && $0.lastFailure == nil }) else { return }
        writer.withLock { $0.prepare() }
    }

    /// Writes the lazy records when ``StoreConfiguration/lazyDelay`` has passed without another batch.
    private func writeLazy() {
        let entries = waiting.withLock { waiting -> [JournalEntry] in
            waiting.isFlushArmed = false
            // A scheduled `drain` writes the lazy records anyway.
            return waiting.isScheduled ? [] : waiting.take()
        }
        if !entries.isEmpty { commit(entries) }
    }

    private func armLazy() {
        queue.asyncAfter(deadline: .now() + lazyDelay.dispatchInterval) { [weak self] in self?.writeLazy() }
    }

    /// Starts the timer for lazy records that were appended while a batch was being written.
    private func rearm() {
        let arms = waiting.withLock { waiting -> Bool in
            guard !waiting.entries.isEmpty, !waiting.isFlushArmed, !waiting.isClosed else { return false }
            waiting.isFlushArmed = true
            return true
        }
        if arms { armLazy() }
    }

    /// Tests whether disk writes succeed again, with the waiting records, or else with the first lines of a
    /// new segment.
    ///
    /// Without this test the server would stay unready, and an unready server gets no messages that would
    /// test the disk.
    private func probe() {
        let entries = waiting.withLock { waiting -> [JournalEntry]? in
            waiting.isProbeArmed = false
            // A scheduled `drain` tests the disk as well.
            guard waiting.lastFailure != nil, !waiting.isScheduled, !waiting.isClosed else { return nil }
            return waiting.take()
        }
        if let entries { commit(entries) }
    }

    private func commit(_ entries: [JournalEntry]) {
        let result: BatchResult
        let begun = SystemClock.nanoseconds()
        do throws(SystemError) {
            let records = try writer.withLock { writer throws(SystemError) in try writer.commit(entries) }
            waiting.withLock { waiting in
                waiting.settled(entries, failure: nil)
                waiting.lastRecord = records.last?.number ?? waiting.lastRecord
            }
            result = .durable(records)
        } catch {
            let arms = waiting.withLock { waiting -> Bool in
                waiting.settled(entries, failure: error)
                defer { waiting.isProbeArmed = true }
                return !waiting.isProbeArmed
            }
            if arms {
                queue.asyncAfter(deadline: .now() + probeInterval.dispatchInterval) { [weak self] in
                    self?.probe()
                }
            }
            result = .failed(.notDurable(error))
        }
        commitDurations.record(SystemClock.nanoseconds() &- begun)
        batchSizes.record(UInt64(entries.count))
        settle(entries, result)
        waiting.withLock { $0.inFlight = [] }
    }
}

extension Journal.Waiting {
    fileprivate mutating func add(_ entry: JournalEntry) {
        entries.append(entry)
        bytes += entry.body.count
        if !entry.isLazy { urgent += 1 }
    }

    /// Returns the next batch and the requests that are complete after it; nil, and the writer becomes idle,
    /// when no caller waits.
    fileprivate mutating func nextBatch() -> (entries: [JournalEntry], requests: [Journal.Request])? {
        guard urgent > 0 || !requests.isEmpty else {
            isScheduled = false
            return nil
        }
        defer { requests.removeAll() }
        return (take(), requests)
    }

    /// Whether the customer closes the conversation in the last record that writes or closes, of those not
    /// settled yet.
    fileprivate func isClosing(_ key: ConversationKey) -> Bool {
        func closes(_ entry: JournalEntry) -> Bool? {
            guard case .sender(let accepted, _) = entry.waiter, accepted.message.outboundKind == nil,
                accepted.message.act.opensOrCloses, accepted.conversation == key
            else { return nil }
            return accepted.message.act == .closes
        }
        return entries.reversed().lazy.compactMap(closes).first
            ?? inFlight.reversed().lazy.compactMap(closes).first ?? false
    }

    /// Removes and returns all waiting records; their bytes stay counted until the result of the batch is
    /// known.
    fileprivate mutating func take() -> [JournalEntry] {
        var taken: [JournalEntry] = []
        taken.reserveCapacity(entries.count)
        swap(&taken, &entries)
        inFlight = taken
        urgent = 0
        return taken
    }

    fileprivate mutating func settled(_ entries: [JournalEntry], failure: SystemError?) {
        for entry in entries { bytes -= entry.body.count }
        lastFailure = failure
        guard let failure else { return }
        failed = (.now, failure)
        // Lazy records of a failed batch wait for a later batch, such as the next probe. An immediate retry
        // would loop while the disk fails.
        let lazy = entries.filter(\.isLazy)
        for entry in lazy { bytes += entry.body.count }
        self.entries.insert(contentsOf: lazy, at: 0)
    }
}
