import BalloonPOSIX
import Dispatch
import Logging
import Synchronization

/// Syncs conversations behind the journal and notes in it how far they are on disk.
final class Checkpointer: Sendable {
    private struct State {
        var isArmed = false
        var isClosed = false
        /// False once a sync failed, until all that was written since the last checkpoint is written anew.
        var isTrusted = true
        /// Why not, until there are checkpoints again.
        var failure: String?
        /// When that is tried next, and how long after that once more.
        var recovery: (at: ContinuousClock.Instant, pause: Duration)
        /// When it was last said that a line could not be written.
        var alarm: ContinuousClock.Instant?
        /// The last checkpoint that was begun.
        var latest: Task<Void, Never>?
    }

    private static let alarmInterval = Duration.seconds(60)
    /// The longest time between two tries to write conversations anew.
    private static let maximumPause = Duration.seconds(600)
    private let state: Mutex<State>
    private let timers = DispatchQueue(label: "balloon.checkpoints")
    private let interval: Duration
    private let conversations: ConversationPartitions
    private let journal: Journal
    private let recovery: ConversationRecovery
    private let logger: Logger

    init(
        _ interval: Duration, conversations: ConversationPartitions, journal: Journal,
        recovery: ConversationRecovery, logger: Logger
    ) {
        state = Mutex(State(recovery: (.now, interval)))
        self.recovery = recovery
        self.interval = interval
        self.conversations = conversations
        self.journal = journal
        self.logger = logger
    }

    /// Sees to it that what was just written is synced before long.
    func noteWrite() {
        let arms = state.withLock { state in
            defer { state.isArmed = true }
            return !state.isArmed && !state.isClosed
        }
        guard arms else { return }
        timers.asyncAfter(deadline: .now() + interval.dispatchInterval) { [weak self] in
            guard let self else { return }
            Task { await self.run() }
        }
    }

    /// Says that a line could not be written: once for all that fail together, and now and then again.
    ///
    /// No checkpoint waits for it: its delivery is not finished before the line is there, and comes again until then.
    func noteFailure(of entry: ConversationEntry, _ error: any Error) {
        let isNews = state.withLock { state in
            if let alarm = state.alarm, .now - alarm < Self.alarmInterval { return false }
            state.alarm = .now
            return true
        }
        guard isNews else { return }
        logger.error(
            "a conversation could not be written; its delivery is tried again",
            metadata: ["record": "\(entry.record)", "error": "\(error)"])
    }

    /// Makes no checkpoint until conversations are written anew.
    func distrust(_ error: any Error) {
        state.withLock { state in
            state.isTrusted = false
            state.failure = "\(error)"
        }
        logger.error(
            "conversations could not be brought to disk; they are written anew",
            metadata: ["error": "\(error)"])
        noteWrite()
    }

    /// Why no checkpoint is made; nil while checkpoints are made.
    var failure: String? { state.withLock { $0.failure } }

    /// Whether what is written can be synced: by now, if it could not.
    private func recover() async -> Bool {
        let isDue = state.withLock { $0.isTrusted ? nil : $0.recovery.at <= .now }
        guard let isDue else { return true }
        do {
            if isDue {
                state.withLock { state in
                    state.recovery.at = .now + state.recovery.pause
                    state.recovery.pause = min(state.recovery.pause * 2, Self.maximumPause)
                }
                // From here on: what fails meanwhile may be too late for this one.
                state.withLock { $0.isTrusted = true }
                try await recovery.run()
                conversations.forgetRefused()
                state.withLock { if $0.isTrusted { $0.failure = nil } }
                logger.notice("conversations were written anew; checkpoints are made again")
                return true
            }
        } catch {
            state.withLock { state in
                state.isTrusted = false
                state.failure = "\(error)"
            }
            logger.error("conversations cannot be written anew yet", metadata: ["error": "\(error)"])
        }
        // The next look is by the same clock as that after any line.
        noteWrite()
        return false
    }

    /// Syncs what was written, then notes it in the journal; one at a time, so that who closes waits for the one under way.
    ///
    /// `isDue` says that one is needed although no line was written since the last.
    func run(isDue: Bool = false) async {
        let checkpoint = state.withLock { state in
            let earlier = state.latest
            let checkpoint = Task {
                await earlier?.value
                await self.makeCheckpoint(isDue: isDue)
            }
            state.latest = checkpoint
            return checkpoint
        }
        await checkpoint.value
    }

    /// Makes the last checkpoint.
    func close() async {
        await run()
        state.withLock { $0.isClosed = true }
    }

    private func makeCheckpoint(isDue: Bool) async {
        state.withLock { $0.isArmed = false }
        guard await recover() else { return }
        // A delivery's lines are written before its finished record, so those of all records up to here are.
        let through = journal.lastRecord
        guard state.withLock({ $0.isTrusted }) else { return }
        do {
            guard try await conversations.synchronize() || isDue else { return }
            try journal.append(
                JournalBody.checkpoint(through: through, at: .now()), for: .checkpoint(through: through))
            state.withLock { $0.recovery = (.now, interval) }
        } catch StoreError.closed {
            return
        } catch {
            distrust(error)
            // The next process may find the same lines in the system's memory. Should the journal fail as well, it is not
            // told.
            _ = try? await journal.append(JournalBody.unsynced(at: .now()))
        }
    }
}
