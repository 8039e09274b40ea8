import BalloonPOSIX
import Dispatch
import Synchronization

/// The journal's one writer: all that arrived during a sync goes with the next, as one write and one sync.
///
/// Entries may come from any thread and never wait. Batches are written on a serial queue, and what became of
/// a batch is told there, before the next is written.
final class Journal: Sendable {
    /// What became of a batch.
    enum BatchResult: Sendable {
        /// The entries are on disk, with these numbers in the same order.
        case durable([JournalledRecord])
        /// None of the entries is in the journal.
        case failed(StoreError)
    }

    /// A flush, or a rotation, that a caller waits for.
    fileprivate struct Request: Sendable {
        let rotates: Bool
        /// Records that the next segment says are abandoned.
        var abandoned: [ClosedRange<UInt64>] = []
        let completion: @Sendable () -> Void
    }

    /// A batch, and the requests that are served with it.
    fileprivate struct Round {
        let entries: [JournalEntry]
        let requests: [Request]

        var rotates: Bool { requests.contains { $0.rotates } }
    }

    fileprivate struct Waiting {
        var entries: [JournalEntry] = []
        var requests: [Request] = []
        var bytes = 0
        /// How many of the entries somebody waits for.
        var urgent = 0
        var isScheduled = false
        var isFlushArmed = false
        var isProbeArmed = false
        var isClosed = false
        var lastFailure: SystemError?
        /// The number of the last record that is on disk.
        var lastRecord: UInt64
    }

    private let queue = DispatchQueue(label: "balloon.journal")
    private let waiting: Mutex<Waiting>
    private let writer: Mutex<JournalWriter>
    private let maximumWaitingBytes: Int
    private let lazyDelay: Duration
    private let probeInterval: Duration
    private let settle: @Sendable ([JournalEntry], BatchResult) -> Void

    /// Takes a writer; `settle` is called on the journal's queue for every batch.
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

    /// Hands a record to the writer.
    ///
    /// Throws ``StoreError/overloaded`` when too much waits, which only a sender's message can cause, and
    /// ``StoreError/closed``; then nobody is told anything else. One that is not prompt may wait for ``begin()``.
    func append(
        _ body: [UInt8], for waiter: JournalEntry.Waiter, isPrompt: Bool = true,
        effect: JournalEntry.Effect? = nil
    ) throws(StoreError) {
        try append(JournalEntry(body: body, waiter: waiter, effect: effect), isPrompt: isPrompt)
    }

    /// Begins to write what was appended and not promptly.
    func begin() {
        let schedules = waiting.withLock { waiting in
            guard waiting.urgent > 0, !waiting.isScheduled else { return false }
            waiting.isScheduled = true
            return true
        }
        if schedules { queue.async { self.drain() } }
    }

    /// So many do not wait for more company.
    private static let companyCount = 32

    private func append(
        _ entry: JournalEntry, with others: [JournalEntry] = [], isPrompt: Bool = true
    ) throws(StoreError) {
        let limit = maximumWaitingBytes
        let (refusal, schedules, arms) = waiting.withLock { waiting -> (StoreError?, Bool, Bool) in
            if waiting.isClosed { return (.closed, false, false) }
            if case .sender = entry.waiter, waiting.bytes + entry.body.count > limit {
                return (.overloaded, false, false)
            }
            waiting.add(entry)
            // In one step, so that they are in one batch.
            for other in others { waiting.add(other) }
            if entry.isLazy {
                let arms = !waiting.isFlushArmed && !waiting.isScheduled
                if arms { waiting.isFlushArmed = true }
                return (nil, false, arms)
            }
            let schedules = !waiting.isScheduled && (isPrompt || waiting.urgent >= Self.companyCount)
            if schedules { waiting.isScheduled = true }
            return (nil, schedules, false)
        }
        if let refusal { throw refusal }
        if schedules { queue.async { self.drain() } }
        if arms {
            queue.asyncAfter(deadline: .now() + lazyDelay.dispatchInterval) { [weak self] in self?.writeLazy()
            }
        }
    }

    /// Writes a record and waits until it is on disk.
    func append(_ body: [UInt8], effect: JournalEntry.Effect? = nil) async throws -> JournalledRecord {
        try await withCheckedThrowingContinuation { continuation in
            do { try append(body, for: .task(continuation), effect: effect) } catch {
                continuation.resume(throwing: error)
            }
        }
    }

    /// Writes several records in one batch and waits until they are on disk; when that fails, none is.
    func append(_ bodies: [(body: [UInt8], effect: JournalEntry.Effect)]) async throws -> [JournalledRecord] {
        guard let first = bodies.first else { return [] }
        return try await withCheckedThrowingContinuation { continuation in
            let entry = JournalEntry(
                body: first.body, waiter: .tasks(continuation, count: bodies.count), effect: first.effect)
            let others = bodies.dropFirst().map {
                JournalEntry(body: $0.body, waiter: .same, effect: $0.effect)
            }
            do { try append(entry, with: others) } catch { continuation.resume(throwing: error) }
        }
    }

    /// Begins another segment, if there is one and it is too old.
    ///
    /// Waits for two syncs at most, like ``flush()``.
    func rotate() async {
        await withCheckedContinuation { continuation in rotate { continuation.resume() } }
    }

    /// Writes all records that wait, the lazy ones included, and waits until they are on disk or refused.
    ///
    /// Waits for two syncs at most, whatever comes in meanwhile: that of the batch that is being written, and that of the
    /// next batch, which takes along all that waits.
    func flush() async {
        await withCheckedContinuation { continuation in flush { continuation.resume() } }
    }

    /// The same for a caller that does not wait; the completion runs on the journal's queue.
    func rotate(completion: @escaping @Sendable () -> Void) {
        request(Request(rotates: true, completion: completion))
    }

    /// The same for a caller that does not wait; the completion runs on the journal's queue.
    func flush(completion: @escaping @Sendable () -> Void) {
        request(Request(rotates: false, completion: completion))
    }

    /// Writes at the start of new segments that these records are abandoned, and waits until that is on disk.
    func abandon(_ records: [ClosedRange<UInt64>]) async throws(StoreError) {
        for start in stride(from: 0, to: records.count, by: AbandonedRecords.maximumRanges - 1) {
            let some = Array(records[start..<min(start + AbandonedRecords.maximumRanges - 1, records.count)])
            await withCheckedContinuation { continuation in
                request(Request(rotates: false, abandoned: some) { continuation.resume() })
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

    /// Takes nothing more, writes what waits, and returns when the writer is at rest.
    func close() async {
        waiting.withLock { $0.isClosed = true }
        await flush()
        await onQueue { self.writer.withLock { $0.end() } }
    }

    /// Returns when the queue has done all that it was given before, filling the segment ahead included.
    func rest() async { await onQueue {} }

    private func onQueue(_ body: @escaping @Sendable () -> Void) async {
        await withCheckedContinuation { continuation in
            queue.async {
                body()
                continuation.resume()
            }
        }
    }

    /// The bytes that wait for a sync, those of the batch that is being written included.
    var waitingBytes: Int { waiting.withLock { $0.bytes } }

    /// Why the last batch failed; nil when it did not.
    var lastFailure: SystemError? { waiting.withLock { $0.lastFailure } }

    /// The number of the last record that is on disk.
    var lastRecord: UInt64 { waiting.withLock { $0.lastRecord } }

    /// Writes batches until nobody waits, and serves flushes and rotations between them.
    private func drain() {
        while let round = waiting.withLock({ $0.nextRound() }) {
            let isRotated = begin(round)
            // The first lines of a segment are a batch like any other.
            if isRotated || !round.entries.isEmpty { commit(round.entries) }
            for request in round.requests { request.completion() }
        }
        rearm()
        prepare()
    }

    /// Begins another segment where a request asks for it; whether its first lines are to be written.
    private func begin(_ round: Round) -> Bool {
        let abandoned = round.requests.flatMap(\.abandoned)
        return writer.withLock { writer in
            if abandoned.isEmpty { return round.rotates && writer.endIfOld() }
            writer.declare(abandoned)
            return true
        }
    }

    /// Fills the segment ahead, now that nobody waits; whoever comes meanwhile does.
    private func prepare() {
        guard waiting.withLock({ !$0.isClosed && $0.lastFailure == nil }) else { return }
        writer.withLock { $0.prepare() }
    }

    /// Writes the lazy records that nothing took along.
    private func writeLazy() {
        let entries = waiting.withLock { waiting -> [JournalEntry] in
            waiting.isFlushArmed = false
            // A drain that is scheduled takes them.
            return waiting.isScheduled ? [] : waiting.take()
        }
        if !entries.isEmpty { commit(entries) }
    }

    /// Arms the timer for lazy records that were appended while a drain ran.
    private func rearm() {
        let arms = waiting.withLock { waiting -> Bool in
            guard !waiting.entries.isEmpty, !waiting.isFlushArmed, !waiting.isClosed else { return false }
            waiting.isFlushArmed = true
            return true
        }
        if arms {
            queue.asyncAfter(deadline: .now() + lazyDelay.dispatchInterval) { [weak self] in self?.writeLazy()
            }
        }
    }

    /// Finds out whether disk writes succeed again, with what waits or with a segment's first lines alone: a server
    /// that is not ready is sent nothing that would.
    private func probe() {
        let entries = waiting.withLock { waiting -> [JournalEntry]? in
            waiting.isProbeArmed = false
            // A drain that is scheduled finds out as well.
            guard waiting.lastFailure != nil, !waiting.isScheduled, !waiting.isClosed else { return nil }
            return waiting.take()
        }
        if let entries { commit(entries) }
    }

    private func commit(_ entries: [JournalEntry]) {
        let result: BatchResult
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
        settle(entries, result)
    }
}

extension Journal.Waiting {
    fileprivate mutating func add(_ entry: JournalEntry) {
        entries.append(entry)
        bytes += entry.body.count
        if !entry.isLazy { urgent += 1 }
    }

    /// What the writer does next; nil when it may rest.
    fileprivate mutating func nextRound() -> Journal.Round? {
        guard urgent > 0 || !requests.isEmpty else {
            isScheduled = false
            return nil
        }
        defer { requests.removeAll() }
        return Journal.Round(entries: take(), requests: requests)
    }

    /// All that waits; it stays counted until it is settled.
    fileprivate mutating func take() -> [JournalEntry] {
        var taken: [JournalEntry] = []
        taken.reserveCapacity(entries.count)
        swap(&taken, &entries)
        urgent = 0
        return taken
    }

    fileprivate mutating func settled(_ entries: [JournalEntry], failure: SystemError?) {
        for entry in entries { bytes -= entry.body.count }
        lastFailure = failure
        guard failure != nil else { return }
        // They go with the next batch that somebody waits for, so that a broken disk is not tried in a
        // circle.
        let lazy = entries.filter(\.isLazy)
        for entry in lazy { bytes += entry.body.count }
        self.entries.insert(contentsOf: lazy, at: 0)
    }
}
