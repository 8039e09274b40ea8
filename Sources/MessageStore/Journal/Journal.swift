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

    fileprivate struct Waiting {
        var entries: [JournalEntry] = []
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
        _ body: [UInt8], for waiter: JournalEntry.Waiter, isPrompt: Bool = true
    ) throws(StoreError) {
        try append(JournalEntry(body: body, waiter: waiter), isPrompt: isPrompt)
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
    func append(_ body: [UInt8]) async throws -> JournalledRecord {
        try await withCheckedThrowingContinuation { continuation in
            do { try append(body, for: .task(continuation)) } catch { continuation.resume(throwing: error) }
        }
    }

    /// Writes several records in one batch and waits until they are on disk; when that fails, none is.
    func append(_ bodies: [[UInt8]]) async throws -> [JournalledRecord] {
        guard let first = bodies.first else { return [] }
        return try await withCheckedThrowingContinuation { continuation in
            let entry = JournalEntry(body: first, waiter: .tasks(continuation, count: bodies.count))
            let others = bodies.dropFirst().map { JournalEntry(body: $0, waiter: .same) }
            do { try append(entry, with: others) } catch { continuation.resume(throwing: error) }
        }
    }

    /// Begins another segment, if there is one and it is too old.
    func rotate() async {
        await withCheckedContinuation { continuation in
            queue.async {
                // Its first lines are a batch like any other.
                if self.writer.withLock({ $0.endIfOld() }) { self.commit([]) }
                continuation.resume()
            }
        }
    }

    /// Writes all that waits, also what nobody waits for.
    func flush() async {
        await withCheckedContinuation { continuation in
            queue.async {
                self.drain()
                self.writeLazy()
                continuation.resume()
            }
        }
    }

    /// Takes nothing more, writes what waits, and returns when the writer is at rest.
    func close() async {
        waiting.withLock { $0.isClosed = true }
        await flush()
        await withCheckedContinuation { continuation in
            queue.async {
                self.writer.withLock { $0.end() }
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

    /// Writes batches until nobody waits.
    private func drain() {
        while true {
            let entries = waiting.withLock { waiting -> [JournalEntry] in
                guard waiting.urgent > 0 else {
                    waiting.isScheduled = false
                    return []
                }
                return waiting.take()
            }
            if entries.isEmpty { break }
            commit(entries)
        }
        rearm()
        prepare()
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

    /// Lazy records that came while a drain was under way have nobody who would flush them.
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

    /// Finds out whether the disk takes records again, with what waits or with a segment's first lines alone: a server
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

extension Duration {
    /// The same time for Dispatch, to the microsecond.
    var dispatchInterval: DispatchTimeInterval {
        let (seconds, attoseconds) = components
        return .microseconds(Int(seconds) * 1_000_000 + Int(attoseconds / 1_000_000_000_000))
    }
}
