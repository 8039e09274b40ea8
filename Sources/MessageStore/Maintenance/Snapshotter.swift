import BalloonPOSIX
import Dispatch
import Logging
import Synchronization

/// Writes snapshots of the running store's state, each together with a checkpoint of the conversations.
///
/// A snapshot is a copy of the state between two batches of the journal. It is written to a temporary file, and replaces the
/// last one when all conversation lines through its checkpoint are on disk. A failure only makes the next start slower.
final class Snapshotter: Sendable {
    /// A copy of the state.
    struct Capture: Sendable {
        /// The state, still without its segments.
        fileprivate var snapshot: JournalSnapshot
        /// The last record that was applied to the state.
        var lastRecord: UInt64 { snapshot.lastRecord }
        /// Whether a delivery or a reply has ended since the last checkpoint.
        var hasUncheckedEnd: Bool { snapshot.ledger.hasUncheckedEnd }
        fileprivate let ends: [JournalSnapshot.End]
        fileprivate let discards: Int
    }

    /// A snapshot in its temporary file.
    struct Prepared: Sendable {
        fileprivate let file: AtomicFile.Replacement
        fileprivate let lastRecord: UInt64
        /// The number of messages in the file itself.
        fileprivate let messages: Int
        /// The files of other messages that it names.
        fileprivate let names: Set<String>
        fileprivate let discards: Int

        /// Removes the temporary file.
        func discard() { file.discard() }
    }

    private struct State {
        /// The last record that the snapshot file covers.
        var covered: UInt64
        /// The number of known messages in the snapshot itself.
        var messages = 0
        /// How often the snapshot was removed; an earlier copy of the state is not installed afterwards.
        var discards = 0
        var isClosed = false
    }

    private let state: Mutex<State>
    private let queue = DispatchQueue(label: "balloon.snapshots")
    private let file: SnapshotFile
    private let held: HeldConversations
    private let journal: Journal
    private let logger: Logger
    private let copy: @Sendable (_ lastRecord: UInt64) -> JournalSnapshot
    /// Called with files of known messages, which replace tables of the running store.
    private let adopt: @Sendable ([UInt64: KnownMessages]) -> Void
    private let knownMessages: String
    /// The minimum number of new records after which a checkpoint has a snapshot.
    private let interval: UInt64

    /// Creates a snapshotter whose file covers the records up to `covered`; `copy` is called on the journal's queue.
    init(
        _ configuration: StoreConfiguration, covered: UInt64, held: HeldConversations, journal: Journal,
        logger: Logger, adopt: @escaping @Sendable ([UInt64: KnownMessages]) -> Void,
        copy: @escaping @Sendable (_ lastRecord: UInt64) -> JournalSnapshot
    ) {
        state = Mutex(State(covered: covered))
        file = SnapshotFile(configuration)
        self.held = held
        self.journal = journal
        self.logger = logger
        self.copy = copy
        self.adopt = adopt
        knownMessages = DataDirectory(path: configuration.directory).knownMessages
        interval = configuration.snapshotInterval
    }

    /// Removes the temporary files of killed processes, and writes a snapshot if the start read many records.
    func begin(_ recovered: JournalRecovery) {
        file.removeTemporary()
        removeFiles(except: Set(recovered.state.index.files.map(\.name)))
        state.withLock { $0.messages = recovered.state.index.countInMemory }
        guard recovered.lastRecord >= recovered.covered + interval, held.damage.isWhole else { return }
        queue.async { [self] in
            let discards = state.withLock { $0.discards }
            guard let segments = file.segments(endingAt: recovered.segments) else { return }
            var snapshot = JournalSnapshot(
                of: recovered.state.state, index: recovered.state.index, through: recovered.lastRecord)
            snapshot.segments = segments
            if let prepared = write(snapshot, discards) { _ = installNow(prepared) }
        }
    }

    /// Copies the state if enough records are newer than the last snapshot; with `isLast`, any record is enough.
    func capture(isLast: Bool) async -> Capture? {
        // A snapshot of a large index is written less often, so that the cost per record stays constant.
        let (least, discards) = state.withLock { state in
            // After the first close, another process may have the directory.
            if state.isClosed { return (UInt64.max, 0) }
            let count = isLast ? 1 : max(interval, UInt64(state.messages / 4))
            return (state.covered + count, state.discards)
        }
        // A snapshot of a damaged journal would hide the damage from the next start.
        guard held.damage.isWhole, journal.lastRecord >= least else { return nil }
        return await withCheckedContinuation { continuation in
            journal.flush { [self] in
                let snapshot = copy(journal.lastRecord)
                let first = snapshot.ledger.segments.first?.first ?? 0
                continuation.resume(
                    returning: Capture(
                        snapshot: snapshot, ends: journal.segmentEnds(from: first), discards: discards))
            }
        }
    }

    /// Writes a copy of the state to a temporary file; `checkpoint` is the last record whose lines will be on disk when the
    /// snapshot is installed.
    func prepare(_ capture: Capture?, checkpoint: UInt64) async -> Prepared? {
        guard let capture else { return nil }
        return await queue.run { [self] in
            guard let segments = file.segments(endingAt: capture.ends) else { return nil }
            var snapshot = capture.snapshot
            snapshot.segments = segments
            snapshot.isUnsynced = false
            snapshot.ledger.recordCheckpoint(through: checkpoint)
            return write(snapshot, capture.discards)
        }
    }

    /// Replaces the snapshot; returns false when there is none to install, or the snapshot was removed meanwhile.
    func install(_ prepared: Prepared?) async -> Bool {
        guard let prepared else { return false }
        return await queue.run { [self] in installNow(prepared) }
    }

    /// Removes the snapshot, because records that it covers have changed.
    func discard() async {
        await queue.run { [self] in
            state.withLock { state in
                state.covered = 0
                state.discards += 1
            }
            file.discard()
        }
    }

    /// Makes no further snapshot; returns when the queue is idle.
    func close() async {
        state.withLock { $0.isClosed = true }
        await queue.run {}
    }

    private func write(_ snapshot: JournalSnapshot, _ discards: Int) -> Prepared? {
        guard !snapshot.segments.isEmpty else { return nil }
        defer {
            FreeMemory.trim()
            FreeMemory.unmapCode()
        }
        var snapshot = snapshot
        do throws(SystemError) {
            adopt(try snapshot.index.moveToFiles(through: snapshot.lastRecord))
            let files = snapshot.index.files
            for file in files where file.takeUnreadable() {
                logger.warning(
                    "a file of known messages is unreadable; copies of its messages are stored again",
                    metadata: ["file": "\(knownMessages)/\(file.name)"])
            }
            return Prepared(
                file: try file.prepare(snapshot), lastRecord: snapshot.lastRecord,
                messages: snapshot.index.countInMemory, names: Set(files.map(\.name)), discards: discards)
        } catch {
            report(error)
            return nil
        }
    }

    private func installNow(_ prepared: Prepared) -> Bool {
        guard state.withLock({ $0.discards == prepared.discards }) else { return false }
        do throws(SystemError) { try file.install(prepared.file) } catch {
            report(error)
            return false
        }
        state.withLock { state in
            state.covered = prepared.lastRecord
            state.messages = prepared.messages
        }
        removeFiles(except: prepared.names)
        return true
    }

    /// Removes the files of known messages that the snapshot does not name.
    private func removeFiles(except names: Set<String>) {
        // An error is ignored: a file that stays is removed after the next snapshot, and none reads it before.
        for name in (try? Directory.names(in: knownMessages)) ?? [] where !names.contains(name) {
            try? Directory.remove(knownMessages + "/" + name)
        }
    }

    private func report(_ error: SystemError) {
        logger.warning(
            "write of the journal snapshot failed; the next start reads more of the journal",
            metadata: ["error": "\(error)"])
    }
}
