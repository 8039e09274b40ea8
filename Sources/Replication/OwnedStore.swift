import BalloonPOSIX
import Dispatch
import Logging
import Synchronization

/// A store in PostgreSQL that this server owns, until it releases it or is silent for too long.
package final class OwnedStore: Sendable {
    /// Whether another server was the owner, and died without releasing the store.
    package let isTakenOver: Bool
    let copier: FileCopier
    private let epoch: Int64
    private let settings: ReplicaSettings
    private let logger: Logger
    private let connection: ReplicaConnection
    private let lost: @Sendable () -> Void
    private let queue = DispatchQueue(label: "balloon.replica.beat")
    private let cleaning = DispatchQueue(label: "balloon.replica.clean")
    private let watch = DispatchQueue(label: "balloon.replica.lease")
    private let state: Mutex<State>

    private struct State {
        var mark: ReplicaMark
        var marked = SystemClock.sinceBoot()
        /// When the last successful beat was sent.
        var beat = SystemClock.sinceBoot()
        /// The replicas that followed at that time.
        var followers: Int64 = 0
        /// How long ago one of the others had every change, at that time; nil when no other server joined in the last days.
        var followerLag: Duration?
        /// Whether the last beat succeeded.
        var isAnswering = true
        var isReleased = false
        var isCertain = true
        var endMessages: (@Sendable () async -> Void)?
    }

    private static let markInterval = Duration.seconds(30)

    private var lease: Duration { settings.lease }

    private static func connection(_ settings: ReplicaSettings, _ name: String) -> ReplicaConnection {
        ReplicaConnection { () throws(PostgresError) in try PostgresConnection(settings.url, name: name) }
    }

    init(
        _ copier: FileCopier, _ settings: ReplicaSettings, mark: ReplicaMark, epoch: Int64,
        after number: Int64, isTakenOver: Bool, logger: Logger,
        lost: @escaping @Sendable () -> Void
    ) {
        (self.copier, self.epoch, self.settings, self.logger) = (copier, epoch, settings, logger)
        (self.isTakenOver, self.lost) = (isTakenOver, lost)
        // A beat does not wait for a synchronous standby of PostgreSQL: while that is away nobody could see it, and another server
        // would take the store.
        connection = ReplicaConnection { () throws(PostgresError) in
            let connection = try PostgresConnection(settings.url, name: "balloon beat")
            try connection.runAll("SET synchronous_commit = local")
            return connection
        }
        state = Mutex(State(mark: mark))
        DurableCopies.begin(copier)
        queue.async { self.beatForEver() }
        cleaning.async { self.clean(before: number) }
    }

    /// Calls `observer` with false when another server may soon have taken the store, two thirds of the lease after the last
    /// beat, and with true when a beat succeeds again.
    ///
    /// Meanwhile nothing may reach handlers or Apple.
    package func observe(_ observer: @escaping @Sendable (Bool) -> Void) {
        let change = state.withLock { state -> Bool? in
            if state.isReleased { return nil }
            // A beat waits for no standby of PostgreSQL, a transaction does.
            let longest = max(SystemClock.sinceBoot() - state.beat, copier.transactionTime)
            let isCertain = longest < lease * 2 / 3
            defer { state.isCertain = isCertain }
            return isCertain == state.isCertain ? nil : isCertain
        }
        if let change { observer(change) }
        watch.asyncAfter(deadline: .now() + (lease / 20).dispatchInterval) { [weak self] in
            self?.observe(observer)
        }
    }

    /// Reads the messages that other servers took, also before this one became the owner, and continues until ``endMessages()``.
    ///
    /// Returns true when this server may take messages itself, and false when `isStopped` returns true before. Throws when nothing
    /// can be read for 30 seconds.
    package func readMessages(
        into store: some TakenMessageStore, until isStopped: () -> Bool
    ) async throws(ReplicaError) -> Bool {
        let reader = IntakeReader(
            epoch: epoch, term: copier.term, form: settings.form,
            connection: Self.connection(settings, "balloon \(state.withLock(\.mark.replica))"),
            logger: logger, store: store)
        state.withLock { $0.endMessages = reader.end }
        return try await reader.begin(until: isStopped)
    }

    /// Leaves messages to the next owner; this server takes none itself any more.
    package func endMessages() async { await state.withLock(\.endMessages)?() }

    /// The facts that an operator watches.
    package struct Figures: Sendable {
        /// The time since the last beat that the database confirmed; handlers are not called from two thirds of the lease on.
        package let sinceBeat: Duration
        /// The servers that follow; each says so every 30 seconds, so one that ended counts for 90.
        package let followers: Int
        /// The time since one of them last said that it had every change, as of the last beat; nil without any.
        package let followerLag: Duration?
        /// The changed files that are not in the database yet.
        package let waitingFiles: Int
        /// The transactions that failed; each is made again.
        package let failures: UInt64
    }

    package var figures: Figures {
        let state = state.withLock(\.self)
        let backlog = copier.backlog
        return Figures(
            sinceBeat: SystemClock.sinceBoot() - state.beat, followers: Int(state.followers),
            followerLag: state.followerLag, waitingFiles: backlog.files, failures: backlog.failures)
    }

    /// Gives the store to the others, after all changes; the data directory is closed.
    ///
    /// Without a database that answers, the others wait for the lease.
    package func release() async { await queue.run { self.releaseNow() } }

    private func releaseNow() {
        do throws(SystemError) {
            defer {
                DurableCopies.end(copier)
                copier.end()
            }
            try copier.synchronize()
            try writeMark()
        } catch {
            logger.warning("the store was not released", metadata: ["reason": "\(error)"])
            return
        }
        endBeats()
        // The second time with a new connection.
        for attempt in 1...2 {
            do throws(PostgresError) {
                try connection.run(
                    """
                    UPDATE balloon.owner SET epoch = epoch + 1, replica = '', intake = epoch + 1, serves = false
                    WHERE \(ReplicaTerm.isOwner(epoch: "$1", term: "$2"))
                    """, [.number(epoch), .text(copier.term)])
                return logger.notice("the store is released")
            } catch {
                if attempt == 1 { continue }
                logger.warning("the store was not released", metadata: ["reason": "\(error)"])
            }
        }
    }

    /// Ends the beats, as the end of the process does.
    func endBeats() { state.withLock { $0.isReleased = true } }

    /// Removes what former owners began to write and did not end, and files that were removed long before the change `number`.
    private func clean(before number: Int64) {
        do throws(PostgresError) {
            let connection = Self.connection(settings, "balloon clean")
            try connection.run(
                """
                DELETE FROM balloon.piece p WHERE version < $1 AND NOT EXISTS (
                    SELECT FROM balloon.file f WHERE f.path = p.path AND f.version = p.version)
                """, [.number(FileCopier.version(0, of: epoch))], within: .seconds(600))
            try connection.run(
                "DELETE FROM balloon.file WHERE size < 0 AND number < $1",
                [.number(number - 2 * Replica.maximumBehind)], within: .seconds(600))
            try connection.run("DELETE FROM balloon.replica WHERE seen < now() - interval '7 days'")
        } catch {
            logger.warning("the store's database was not cleaned", metadata: ["reason": "\(error)"])
        }
    }

    private func beatForEver() {
        if state.withLock(\.isReleased) { return }
        beat()
        if state.withLock({ SystemClock.sinceBoot() - $0.marked >= Self.markInterval }) {
            // A failure costs the next start some fetching.
            try? writeMark()
        }
        queue.asyncAfter(deadline: .now() + (lease * 3 / 10).dispatchInterval) { [weak self] in
            self?.beatForEver()
        }
    }

    /// Says once that the owner lives.
    func beat() {
        let sent = SystemClock.sinceBoot()
        do throws(PostgresError) {
            let rows = try connection.run(
                """
                WITH mine AS (UPDATE balloon.replica SET beat = beat + 1, seen = now() WHERE id = $1 RETURNING 1)
                SELECT (SELECT count(*) FROM mine WHERE EXISTS (SELECT FROM balloon.owner WHERE epoch = $2)), (
                    SELECT count(*) FROM balloon.replica WHERE id <> $1 AND seen > now() - interval '90 seconds'),
                    (\(ReplicaTerm.check(term: "$3", number: "$4"))), (
                    SELECT coalesce(extract(epoch FROM now() - max(seen))::bigint, -1) FROM balloon.replica
                    WHERE id <> $1 AND seen > now() - interval '7 days')
                """,
                [
                    .text(state.withLock(\.mark.replica)), .number(epoch), .text(copier.term),
                    .number(copier.lastNumber),
                ], within: lease / 4)
            // The database lost this server's takeover, whose epoch it may give to another one, or its last change.
            if rows.first?[2].number == 0 {
                logger.critical(
                    "the store's database lacks this server's takeover or a change that it confirmed; this server ends",
                    metadata: ["term": "\(copier.term)"])
                try? writeMark()
                return lost()
            }
            guard let row = rows.first, row[0].number == 1 else { return lost() }
            let wasAnswering = state.withLock { state in
                (state.beat, state.followers) = (sent, row[1].number)
                state.followerLag = row[3].number < 0 ? nil : .seconds(row[3].number)
                defer { state.isAnswering = true }
                return state.isAnswering
            }
            if !wasAnswering { logger.notice("the store's database answers again") }
        } catch {
            let wasAnswering = state.withLock { state in
                defer { state.isAnswering = false }
                return state.isAnswering
            }
            guard wasAnswering else { return }
            logger.error("the store's database does not answer", metadata: ["reason": "\(error)"])
        }
    }

    private func writeMark() throws(SystemError) {
        var mark = state.withLock(\.mark)
        copier.advance(&mark, through: try copier.beginMark())
        try mark.write(in: copier.root)
        state.withLock { $0.marked = SystemClock.sinceBoot() }
    }
}
