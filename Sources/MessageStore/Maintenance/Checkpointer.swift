import BalloonPOSIX
import Dispatch
import Logging
import Synchronization

/// Syncs conversations in rounds, and journals which lines are on disk.
///
/// A round starts one checkpoint interval after a line was written, and at the earliest one sync interval
/// after the previous round. No file is therefore synced more often.
final class Checkpointer: Sendable {
    private struct State {
        var isClosed = false
        /// The time at which the last round that synced a file ended.
        var lastRound: ContinuousClock.Instant?
        /// False from a failed sync until all lines written since the last checkpoint are rewritten.
        var isTrusted = true
        /// The error of the failed sync or rewrite; nil while checkpoints succeed.
        var failure: String?
        /// The earliest time of the next attempt to rewrite conversations, and the pauses between later
        /// attempts.
        var recovery: (at: ContinuousClock.Instant, backoff: Backoff)
        /// The time of the last log line about a line that could not be written.
        var alarm: ContinuousClock.Instant?
    }

    private static let alarmInterval = Duration.seconds(60)
    private let state: Mutex<State>
    private let rounds = TaskChain()
    private let timers = DispatchQueue(label: "balloon.checkpoints")
    /// Whether a round is scheduled.
    private let isArmed = Atomic(false)
    private let interval: Duration
    /// The pauses between two attempts to rewrite conversations.
    private let backoff: Backoff
    private let syncInterval: Duration
    private let conversations: ConversationPartitions
    private let syncer: ConversationSyncer
    private let journal: Journal
    private let recovery: ConversationRecovery
    private let unwrittenLines: UnwrittenLines
    private let index: IndexedConversations
    private let snapshotter: Snapshotter
    private let logger: Logger

    init(
        _ configuration: StoreConfiguration, conversations: ConversationPartitions,
        syncer: ConversationSyncer, journal: Journal, recovery: ConversationRecovery,
        unwrittenLines: UnwrittenLines, index: IndexedConversations, snapshotter: Snapshotter, logger: Logger
    ) {
        self.index = index
        self.unwrittenLines = unwrittenLines
        self.snapshotter = snapshotter
        interval = configuration.checkpointInterval
        syncInterval = configuration.conversationSyncInterval
        backoff = Backoff(from: configuration.checkpointInterval, to: .seconds(600))
        state = Mutex(State(recovery: (.now, backoff)))
        self.recovery = recovery
        self.conversations = conversations
        self.syncer = syncer
        self.journal = journal
        self.logger = logger
    }

    /// Schedules a round after a line was written; returns at once when one is scheduled already.
    func recordWrite() {
        // Relaxed ordering is enough: the partition's lock makes the write visible to the round.
        if isArmed.load(ordering: .relaxed) || isArmed.exchange(true, ordering: .relaxed) { return }
        let delay = state.withLock { state -> Duration? in
            if state.isClosed { return nil }
            return max(interval, remaining(state))
        }
        guard let delay else { return }
        timers.asyncAfter(deadline: .now() + delay.dispatchInterval) { [weak self] in
            guard let self else { return }
            Task { await self.run() }
        }
    }

    /// Returns the time until the next round may start.
    private func remaining(_ state: State) -> Duration {
        guard let lastRound = state.lastRound else { return .zero }
        return max(.zero, lastRound + syncInterval - .now)
    }

    /// Logs that a line could not be written, at most once a minute.
    ///
    /// No checkpoint waits for such a line. Its delivery is retried, and ends only after the line is written.
    func recordFailure(of entry: ConversationEntry, _ error: any Error) {
        let isNews = state.withLock { state in
            if let alarm = state.alarm, .now - alarm < Self.alarmInterval { return false }
            state.alarm = .now
            return true
        }
        guard isNews else { return }
        logger.error(
            "a conversation's line could not be written; writing is retried",
            metadata: ["record": "\(entry.record)", "error": "\(error)"])
    }

    /// Stops checkpoints until the conversations written since the last checkpoint are rewritten.
    func distrust(_ error: any Error) {
        state.withLock { state in
            state.isTrusted = false
            state.failure = "\(error)"
        }
        logger.error(
            "could not sync the conversation files (fsync); writing them again from the journal",
            metadata: ["error": "\(error)"])
        recordWrite()
    }

    /// The reason why checkpoints are stopped; nil while they succeed.
    var failure: String? { state.withLock { $0.failure } }

    /// Rewrites conversations after a failed sync, if an attempt is due; returns whether a checkpoint can be made.
    private func recover() async -> Bool {
        let isDue = state.withLock { $0.isTrusted ? nil : $0.recovery.at <= .now }
        guard let isDue else { return true }
        do {
            if isDue {
                state.withLock { state in
                    state.recovery.at = .now + state.recovery.backoff.fail()
                }
                // This is set before the recovery, so that a sync that fails during the recovery counts as a
                // new failure.
                state.withLock { $0.isTrusted = true }
                try await recovery.run()
                conversations.forgetRefused()
                state.withLock { if $0.isTrusted { $0.failure = nil } }
                logger.notice(
                    "the conversation files have been written again after a failed sync; checkpoints resumed")
                return true
            }
        } catch {
            state.withLock { state in
                state.isTrusted = false
                state.failure = "\(error)"
            }
            logger.error("rewriting of conversations failed; it is retried", metadata: ["error": "\(error)"])
        }
        // The next round tries again when the pause has passed.
        recordWrite()
        return false
    }

    /// Syncs the written conversations, then records a checkpoint.
    ///
    /// Rounds run one after another, so ``close()`` waits for a running one. `isDue` requests a checkpoint
    /// even when no line was written since the last checkpoint.
    func run(isDue: Bool = false, isLast: Bool = false) async {
        // The chain is never closed, so it throws nothing.
        try? await rounds.run { await self.makeCheckpoint(isDue: isDue, isLast: isLast) }
    }

    /// Ends a running round early, and makes the last checkpoint.
    func close() async {
        syncer.stop()
        await run(isLast: true)
        state.withLock { $0.isClosed = true }
    }

    private func makeCheckpoint(isDue: Bool, isLast: Bool) async {
        isArmed.store(false, ordering: .relaxed)
        guard await recover() else { return }
        let isEarly = state.withLock { remaining($0) > .zero }
        if isEarly, !isLast, conversations.hasUnsynced { return recordWrite() }
        // A delivery's lines are written before its finished record. The lines of all records up to this one
        // are therefore written.
        var snapshot = await snapshotter.capture(isLast: isLast)
        let hasUncheckedEnd = snapshot?.hasUncheckedEnd == true
        let through = unwrittenLines.checkpoint(through: snapshot?.lastRecord ?? journal.lastRecord)
        guard state.withLock({ $0.isTrusted }) else { return }
        let prepared = await snapshotter.prepare(snapshot, checkpoint: through)
        // While it is kept, every change of the deduplication's index copies a page of the index.
        snapshot = nil
        var isInstalled = false
        defer { if !isInstalled { prepared?.discard() } }
        do {
            let round = isLast ? try await syncer.finish() : try await syncer.run()
            switch round {
            case .empty: break
            case .done: state.withLock { $0.lastRound = .now }
            case .stopped: return
            }
            // From here on, all lines through the checkpoint of the snapshot are on disk.
            isInstalled = await snapshotter.install(prepared)
            if case .empty = round, !isDue, !hasUncheckedEnd { return }
            // A start uses the index file only when the file is complete through the journal's last
            // checkpoint, so the file is written first.
            await index.write(through: through)
            try journal.append(
                JournalBody.checkpoint(through: through, at: .now()), for: .none)
            state.withLock { $0.recovery = (.now, backoff) }
            // No line was written during the round, so the memory that a burst of messages used can go.
            if !isLast, !isArmed.load(ordering: .relaxed) { FreeMemory.trim() }
        } catch StoreError.closed {
            return
        } catch StoreError.unavailable(_, let error) where error == .notKept {
            // The files are as they were written, and their copy takes them as soon as it can.
            recordWrite()
        } catch {
            distrust(error)
            // The next process may read unsynced lines from the page cache and take them for synced ones;
            // this record prevents that. If writing the record fails too, the next process does not learn of
            // the failed sync.
            _ = try? await journal.append(JournalBody.unsynced(at: .now()))
        }
    }
}
