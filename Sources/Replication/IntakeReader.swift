import BalloonPOSIX
import Dispatch
import Logging
import Synchronization

/// The owner's store, for the messages that other servers took.
package protocol TakenMessageStore: Sendable {
    associatedtype Message: Sendable

    /// Returns the message; nil for bytes that are none.
    func read(_ content: [UInt8]) -> Message?
    /// Whether a part of the message is elsewhere, and the server that took the message may be fetching it.
    func isIncomplete(_ message: Message) -> Bool
    /// Whether a message that was not answered is refused at present.
    func refuses(_ message: Message) -> Bool
    /// Stores all messages or none; calls the completion once for each.
    func store(_ messages: [Message], completion: @escaping @Sendable (_ isStored: Bool) -> Void)
}

/// Reads the messages that other servers took for the owner: see ``Intake``.
///
/// First it reads what they answered without an owner. Then it makes them wait for this server, and continues.
final class IntakeReader<Store: TakenMessageStore>: Sendable {
    private struct State {
        /// The last row of a message that may have been answered without an owner; nil until the others wait for this server.
        var answered: Int64?
        /// Whether all those are read.
        var isServing = false
        var isEnded = false
        var isFailing = false
        var progress = SystemClock.sinceBoot()
        var count = 0
        var pause = Backoff(from: .milliseconds(5), to: .milliseconds(100))
        /// Rows up to this one were read a minute ago.
        var floor: Int64 = 0
        /// The greatest number at present, and at the latest reading from the beginning.
        var last: (now: Int64, then: Int64) = (0, 0)
        var readFromBeginning = Duration.zero
    }

    private let epoch: Int64
    private let term: String
    private let form: PieceForm
    private let logger: Logger
    private let connection: ReplicaConnection
    private let store: Store
    private let queue = DispatchQueue(label: "balloon.replica.intake-reader")
    private let began = SystemClock.sinceBoot()
    private let state = Mutex(State())

    private static var pageMessages: Int { 64 }
    private static var pageBytes: Int { 4 << 20 }
    private static var patience: Duration { .seconds(30) }
    /// How long rows are read before the others wait, and how long an incomplete message is waited for.
    private static var longestStart: Duration { .seconds(3) }

    init(
        epoch: Int64, term: String, form: PieceForm, connection: ReplicaConnection, logger: Logger,
        store: Store
    ) {
        (self.epoch, self.term, self.form) = (epoch, term, form)
        (self.connection, self.logger, self.store) = (connection, logger, store)
    }

    /// Returns true when this server may take messages itself, and false when `isStopped` returns true before.
    func begin(until isStopped: () -> Bool) async throws(ReplicaError) -> Bool {
        queue.async { self.work() }
        while true {
            let (isServing, progress) = state.withLock { ($0.isServing, $0.progress) }
            if isServing || isStopped() || Task.isCancelled { return isServing }
            guard SystemClock.sinceBoot() - progress < Self.patience else {
                throw .unreachable("the messages that other servers took cannot be read")
            }
            try? await Task.sleep(for: .milliseconds(10))
        }
    }

    /// Ends the reading; from then on, rows are for the next owner, and the other servers need not wait any more.
    func end() async {
        state.withLock { $0.isEnded = true }
        await queue.run {
            // Without a database, they wait until the store is released.
            _ = try? self.connection.run(
                """
                UPDATE balloon.owner SET serves = false
                WHERE \(ReplicaTerm.isOwner(epoch: "$1", term: "$2"))
                """, [.number(self.epoch), .text(self.term)])
        }
    }

    private func work() {
        if state.withLock(\.isEnded) { return }
        var reason: String?
        var isProgress = false
        do throws(PostgresError) { isProgress = try readPage() } catch { reason = "\(error)" }
        let (pause, isNew) = state.withLock { state in
            defer { state.isFailing = reason != nil }
            if isProgress {
                state.pause.reset()
                state.progress = SystemClock.sinceBoot()
            }
            return (isProgress ? .zero : state.pause.fail(), reason != nil && !state.isFailing)
        }
        if isNew, let reason {
            logger.error(
                "the messages that other servers took cannot be read", metadata: ["reason": "\(reason)"])
        }
        queue.asyncAfter(deadline: .now() + pause.dispatchInterval) { [weak self] in self?.work() }
    }

    /// Stores the messages of the oldest rows, all or none, and removes the rows; returns whether it did anything.
    private func readPage() throws(PostgresError) -> Bool {
        let (rows, answered) = (try rows(), state.withLock(\.answered))
        let isLate = SystemClock.sinceBoot() - began > Self.longestStart
        var messages: [Store.Message] = []
        var (read, refused, unreadable): ([Int64], [Int64], [Int64]) = ([], [], [])
        var isHeld = false
        for row in rows {
            let number = row[0].number
            guard let content = try? form.read(row[1].content), let message = store.read(content) else {
                unreadable.append(number)
                continue
            }
            isHeld = answered == nil && !isLate && store.isIncomplete(message)
            if isHeld { break }
            let isAnswered = answered.map { number <= $0 } ?? true
            guard isAnswered || !store.refuses(message) else {
                refused.append(number)
                continue
            }
            messages.append(message)
            read.append(number)
        }
        let refusals = try refuse(unreadable, refused)
        guard isStored(messages) else { return false }
        if !read.isEmpty {
            try connection.run(
                "DELETE FROM balloon.intake WHERE number = ANY($1)", [.numbers(read)], name: "remove")
            state.withLock { $0.count += read.count }
        }
        // Others may add rows as fast as this server reads them, so it makes them wait after some seconds.
        if answered == nil, isLate || !isHeld && rows.count < Self.pageMessages {
            try serve()
            return true
        }
        if let answered, rows.first.map({ $0[0].number > answered }) ?? true { endAnswered() }
        return read.count + refusals > 0
    }

    /// The oldest rows, at least one and at most a page.
    ///
    /// It looks at the rows behind those of a minute ago, and once a minute at all: removed rows stay in the table for as long as
    /// any transaction of the database is older, such as a dump.
    private func rows() throws(PostgresError) -> [[PostgresValue]] {
        let now = SystemClock.sinceBoot()
        let floor = state.withLock { state -> Int64 in
            guard now - state.readFromBeginning > .seconds(60) else { return state.floor }
            (state.floor, state.last.then, state.readFromBeginning) = (state.last.then, state.last.now, now)
            return 0
        }
        let rows = try connection.run(
            """
            SELECT number, content FROM (
                SELECT number, content, sum(length(content)) OVER (ORDER BY number) - length(content) AS before FROM (
                    SELECT number, content FROM balloon.intake WHERE number > $1 AND NOT refused
                    ORDER BY number LIMIT \(Self.pageMessages)) AS page) AS sums
            WHERE before < \(Self.pageBytes) ORDER BY number
            """, [.number(floor)], name: "read")
        if let last = rows.last?[0].number { state.withLock { $0.last.now = max($0.last.now, last) } }
        return rows
    }

    private func isStored(_ messages: [Store.Message]) -> Bool {
        if messages.isEmpty { return true }
        let areStored = Mutex(true)
        let group = DispatchGroup()
        for _ in messages { group.enter() }
        store.store(messages) { isStored in
            if !isStored { areStored.withLock { $0 = false } }
            group.leave()
        }
        group.wait()
        return areStored.withLock(\.self)
    }

    /// Marks rows, so that they are not read again, and returns how many; each ``Intake`` removes those it waits for.
    private func refuse(_ unreadable: [Int64], _ refused: [Int64]) throws(PostgresError) -> Int {
        if unreadable.isEmpty, refused.isEmpty { return 0 }
        // One that is late must not hide a message that was answered since: then this server does not serve any more.
        let rows = try connection.run(
            """
            WITH mine AS MATERIALIZED (
                SELECT serves FROM balloon.owner WHERE \(ReplicaTerm.isOwner(epoch: "$3", term: "$4")) FOR SHARE)
            UPDATE balloon.intake SET refused = true WHERE EXISTS (SELECT FROM mine) AND (
                number = ANY($1) OR number = ANY($2) AND EXISTS (SELECT FROM mine WHERE serves))
            RETURNING number
            """, [.numbers(unreadable), .numbers(refused), .number(epoch), .text(term)])
        let marked = Set(rows.map { $0[0].number })
        for number in unreadable where marked.contains(number) {
            logger.error(
                "a message that another server took cannot be read; its \"sealKey\" or its version differs from this server's",
                metadata: ["number": "\(number)"])
        }
        return marked.count
    }

    /// Makes the others wait for this server.
    private func serve() throws(PostgresError) {
        // The lock waits for the transactions that saw no owner serve, and later ones see it. All at once, so that no end of this
        // server leaves the lock behind.
        try connection.runAll(
            """
            BEGIN; LOCK TABLE balloon.intake IN SHARE MODE;
            UPDATE balloon.owner SET serves = true
            WHERE \(ReplicaTerm.isOwner(epoch: "\(epoch)", term: "'\(term)'")); COMMIT
            """)
        let rows = try connection.run("SELECT coalesce(max(number), 0) FROM balloon.intake")
        state.withLock { $0.answered = rows.first?[0].number ?? 0 }
    }

    private func endAnswered() {
        let count = state.withLock { state -> Int in
            defer { state.isServing = true }
            return state.isServing ? 0 : state.count
        }
        if count == 0 { return }
        logger.notice(
            "messages stored that other servers took without an owner", metadata: ["count": "\(count)"])
    }
}
