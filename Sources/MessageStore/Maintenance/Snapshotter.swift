import BalloonPOSIX
import Dispatch
import Logging
import Synchronization

/// Writes snapshots of the journal: after the store has opened, at intervals, and when it closes.
///
/// A snapshot is made from the previous snapshot and the later records, read from the files on a separate
/// queue. Writers of the journal therefore never wait for it. A failure only makes the next start slower.
final class Snapshotter: Sendable {
    private struct State {
        /// The last record that the snapshot file covers.
        var lastRecord: UInt64
        /// The number of messages in the snapshot's deduplication index.
        var messages = 0
        var isClosed = false
    }

    private let state: Mutex<State>
    private let queue = DispatchQueue(label: "balloon.snapshots")
    /// The configuration whose limits a snapshot must have, so that the next start can use it.
    private let configuration: Mutex<StoreConfiguration>
    private let journal: Journal
    private let held: HeldConversations
    private let logger: Logger
    /// The minimum number of new records after which the timer writes a snapshot.
    private let interval: UInt64
    private static let pause = Duration.seconds(60)

    init(
        _ configuration: StoreConfiguration, lastRecord: UInt64, journal: Journal, held: HeldConversations,
        logger: Logger
    ) {
        state = Mutex(State(lastRecord: lastRecord))
        self.configuration = Mutex(configuration)
        self.journal = journal
        self.held = held
        self.logger = logger
        interval = configuration.snapshotInterval
    }

    private var file: SnapshotFile { SnapshotFile(configuration.withLock { $0 }) }

    /// Applies other limits to the next snapshot.
    func apply(_ configuration: StoreConfiguration) { self.configuration.withLock { $0 = configuration } }

    /// Writes a snapshot if the start read many records, and starts the timer for later snapshots.
    func begin(_ recovered: JournalRecovery.Result) {
        state.withLock { $0.messages = recovered.state.index.count }
        if journal.lastRecord >= recovered.covered + interval {
            let snapshot = JournalSnapshot(
                of: recovered.state, lastRecord: recovered.lastRecord, segments: recovered.segments)
            queue.async { self.write(snapshot) }
        }
        arm()
    }

    private func arm() {
        queue.asyncAfter(deadline: .now() + Self.pause.dispatchInterval) { [weak self] in
            guard let self else { return }
            if self.state.withLock({ !$0.isClosed }) {
                // A snapshot of a large index is written less often, so that the cost per record stays
                // constant.
                self.make(behind: max(self.interval, UInt64(self.state.withLock { $0.messages } / 4)))
                self.arm()
            }
        }
    }

    /// Writes a snapshot now, if there are records that the last snapshot does not cover.
    func make() async {
        await withCheckedContinuation { continuation in
            queue.async {
                self.make(behind: 1)
                continuation.resume()
            }
        }
    }

    /// Removes the snapshot, because records that it covers have changed; the next snapshot is made from the
    /// whole journal.
    func discard() async {
        await withCheckedContinuation { continuation in
            queue.async {
                self.state.withLock { $0.lastRecord = 0 }
                self.file.discard()
                continuation.resume()
            }
        }
    }

    /// Writes the last snapshot, when the journal is idle.
    func close() async {
        await withCheckedContinuation { continuation in
            queue.async {
                // After the first call, another process may have opened the directory.
                let isFirst = self.state.withLock { state in
                    defer { state.isClosed = true }
                    return !state.isClosed
                }
                if isFirst { self.make(behind: 1) }
                continuation.resume()
            }
        }
    }

    /// Writes a snapshot when at least `count` records are newer than the last one.
    private func make(behind count: UInt64) {
        let last = journal.lastRecord
        // A snapshot of a damaged journal would hide the damage from the next start.
        guard held.damage.isWhole, last >= state.withLock({ $0.lastRecord }) + count else { return }
        do throws(StoreError) {
            if let snapshot = try read(through: last) { write(snapshot) }
        } catch {
            logger.warning(
                "journal snapshot not made; the next start reads more of the journal",
                metadata: ["error": "\(error)"])
        }
        FreeMemory.trim()
    }

    /// Creates a snapshot of the journal through record `last`.
    ///
    /// Returns nil when the journal is damaged, or when a segment is deleted meanwhile.
    private func read(through last: UInt64) throws(StoreError) -> JournalSnapshot? {
        let configuration = configuration.withLock { $0 }
        let file = SnapshotFile(configuration)
        let directory = DataDirectory(path: configuration.directory).journal
        var reader = try JournalReader(directory)
        let base = file.read(reader.segments[...], logger: logger)
        var state = base?.state ?? RecoveredJournal(configuration)
        var segments = base?.segments ?? []
        let covered = base?.lastRecord ?? 0
        if !segments.isEmpty { segments.removeLast() }
        for segment in reader.segments.dropFirst(segments.count) where segment <= last {
            let records: SegmentRecords
            do throws(SystemError) {
                records = try SegmentRecords(
                    reader.path(segment), segment: segment, abandoned: reader.abandoned, through: last)
            } catch {
                // The oldest segment was deleted meanwhile; the next round reads the new list.
                if error.isMissing { return nil }
                throw .unavailable(path: reader.path(segment), error)
            }
            reader.take(segment, records.scan)
            if let end = records.end { segments.append(end) }
            for entry in records.entries where entry.number > covered {
                state.apply(entry.record, number: entry.number, at: entry.location)
            }
        }
        guard reader.losses.isEmpty, reader.blemishes.isEmpty else { return nil }
        return JournalSnapshot(of: state, lastRecord: last, segments: segments)
    }

    private func write(_ snapshot: JournalSnapshot) {
        guard held.damage.isWhole, !snapshot.segments.isEmpty else { return }
        do throws(SystemError) {
            try file.write(snapshot)
            state.withLock { state in
                state.lastRecord = snapshot.lastRecord
                state.messages = snapshot.index.count
            }
        } catch {
            logger.warning(
                "write of the journal snapshot failed; the next start reads more of the journal",
                metadata: ["error": "\(error)"])
        }
    }
}
