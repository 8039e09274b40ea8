import BalloonPOSIX
import BusinessMessages
import Dispatch
import Logging
import Synchronization

/// Deletes the journal's oldest segments when they are no longer needed.
///
/// A segment is needed until its messages and replies have ended and their conversation lines are on disk. It
/// is also needed while its messages are in the deduplication window. Nothing is deleted while a backup
/// copies the journal. Dead letters and assignments have no time limit, so they are copied to the current
/// segment first.
final class Retention: Sendable {
    private let rounds = TaskChain()
    private let timers = DispatchQueue(label: "balloon.retention")
    private let window: Mutex<Duration>
    private let interval: Duration
    private let directory: String
    private let dataDirectory: String
    private let disk: any StoreDisk
    private let journalState: CurrentState
    private let deliveryIndex: DeliveryIndex
    private let reader: SegmentReader
    private let journal: Journal
    private let conversations: ConversationPartitions
    private let checkpointer: Checkpointer
    private let logger: Logger

    init(
        _ configuration: StoreConfiguration, directory: String, journalState: CurrentState,
        deliveryIndex: DeliveryIndex, reader: SegmentReader, journal: Journal,
        conversations: ConversationPartitions, checkpointer: Checkpointer, logger: Logger
    ) {
        window = Mutex(configuration.deduplicationWindow)
        interval = configuration.retentionInterval
        self.directory = directory
        dataDirectory = configuration.directory
        disk = configuration.disk
        self.journalState = journalState
        self.deliveryIndex = deliveryIndex
        self.reader = reader
        self.journal = journal
        self.conversations = conversations
        self.checkpointer = checkpointer
        self.logger = logger
    }

    /// Keeps segments for another deduplication window from the next round on.
    func apply(_ configuration: StoreConfiguration) {
        window.withLock { $0 = configuration.deduplicationWindow }
    }

    /// Starts the timer of the rounds: one round after each interval.
    func arm() {
        timers.asyncAfter(deadline: .now() + interval.dispatchInterval) { [weak self] in
            guard let self else { return }
            Task {
                await self.run()
                self.arm()
            }
        }
    }

    /// Runs a round, after a running round has ended.
    func run() async {
        // After the close, no round is needed.
        try? await rounds.run { await self.makeRound() }
    }

    /// Runs `body` between two rounds, so that no segment is deleted, and nothing is copied, meanwhile.
    func excluding<Result: Sendable>(
        _ body: @escaping @Sendable () async throws -> Result
    ) async throws -> Result {
        try await rounds.run(body)
    }

    /// Prevents further rounds; returns when the running round has ended.
    func close() async { await rounds.close() }

    private func makeRound() async {
        await journal.rotate()
        let now = journalState.now
        let window = window.withLock { $0 }
        if journalState.withState({ $0.ledger.awaitsCheckpoint(at: now, window: window) }) {
            await checkpointer.run(isDue: true)
            await journal.flush()
        }
        let (expired, deadLetters) = journalState.withState { state in
            let expired = state.ledger.expired(at: now, window: window)
            return (expired.map(\.first), state.ledger.deadLetters(in: expired))
        }
        guard let last = expired.last else { return }
        let quarantined = conversations.quarantinedCount
        guard quarantined == 0 else {
            return logger.error(
                "expired journal segments are kept to rebuild damaged conversations: run balloon conversations rebuild",
                metadata: ["conversations": "\(quarantined)"])
        }
        do {
            guard let permit = try FileChangePermit(dataDirectory: dataDirectory) else {
                return logger.info("expired journal segments are kept until the running backup ends")
            }
            defer { withExtendedLifetime(permit) {} }
            try await carry(deadLetters)
            try await journalState.copyAssignments(through: last, to: journal)
            try await remove(expired)
            logger.info(
                "expired journal segments deleted",
                metadata: [
                    "count": "\(expired.count)", "through": "\(last)",
                    "kept_dead_letters": "\(deadLetters.count)",
                ])
        } catch {
            // The next round continues where this one ended.
            logger.error(
                "deletion of a journal segment failed; retrying", metadata: ["error": "\(error)"])
        }
    }

    /// Copies dead letters to the current segment, with a record of any decision that an operator makes
    /// meanwhile.
    private func carry(_ letters: [DeadLetter]) async throws {
        if letters.isEmpty { return }
        let records = letters.filter { $0.reply == nil }.map(\.record)
        let events = try await deliveryIndex.run { index throws(StoreError) in
            try index.events(inOrder: records.sorted())
        }
        for event in events where event.isDeadLetter {
            try await carry(
                DeadLetter(event.record, reply: nil), of: event.business, JournalBody.carried(event))
        }
        let replies = letters.compactMap { letter in
            letter.reply.map { ReplyID(record: letter.record, index: $0) }
        }
        let dead = try await deliveryIndex.run { index throws(StoreError) in try index.replies(replies) }
        for reply in dead where reply.isDeadLetter {
            try await carry(
                DeadLetter(reply.id.record, reply: reply.id.index), of: reply.business,
                JournalBody.carried(reply))
        }
    }

    private func carry(_ letter: DeadLetter, of business: BusinessID, _ record: AppendedRecord) async throws {
        let written = try await journal.append(record)
        let isOne = journalState.withState {
            $0.ledger.deadLetters[letter]?.segment == written.location.segment
        }
        // An operator retried or dropped the dead letter before this copy was written. The copy alone would
        // make it a dead letter again, so a record that drops it follows.
        if !isOne {
            _ = try await journal.append(
                JournalBody.dropped(of: letter.record, reply: letter.reply, at: .now()))
        }
    }

    /// Deletes segments on a queue, because the deletion of a large file blocks the thread.
    private func remove(_ segments: [UInt64]) async throws {
        try await timers.run { for segment in segments { try self.remove(segment) } }
    }

    /// Deletes one segment and syncs the folder.
    ///
    /// The folder is synced before the next segment is deleted: after a power failure, a segment must not
    /// exist without all later ones.
    private func remove(_ segment: UInt64) throws(StoreError) {
        let path = SegmentName.path(segment, in: directory)
        reader.remove(firstRecord: segment)
        try StoreError.naming(path) { () throws(SystemError) in
            try disk.remove(path)
            try disk.synchronizeDirectory(directory)
        }
        journalState.withState { $0.ledger.remove(segment) }
    }
}
