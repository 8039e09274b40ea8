import BalloonPOSIX
import Dispatch
package import Logging
import Synchronization

/// Takes messages on a server that does not own the store, as rows of the table `intake`, which the owner reads.
///
/// While an owner serves, a message is kept when the owner has it in its journal: so of two messages, the one that was answered before
/// the other was sent comes first, whichever servers they reach. Between two owners it is kept when its row is committed, because
/// the next owner reads the rows before it serves.
package final class Intake: Sendable {
    /// Returns the bytes that replace a message of which a part is elsewhere, for seconds only; nil when there are none.
    package typealias Fetch = @Sendable () async -> [UInt8]?

    private struct Message {
        /// The name of the row, so that a transaction whose outcome is unknown is made again.
        let key = Int64.random(in: .min ... .max)
        /// With its rest, once that is fetched.
        var content: [UInt8]
        var fetch: Fetch?
        let arrived: Duration
        /// When it is refused if it is not committed.
        var deadline: Duration
        let completion: @Sendable (Bool) -> Void
    }

    private struct State {
        /// The messages that are not committed yet.
        var new = Deque<Message>()
        /// The messages that the owner has not read yet, by the numbers of their rows.
        var waiting: [Int64: Message] = [:]
        var contentBytes = 0
        /// The messages that were answered since an owner served.
        var answered = 0
        var fetches = Deque<(key: Int64, fetch: Fetch)>()
        var runningFetches = 0
        var isWorking = false
        /// When the new messages that are overdue are refused next; nil when nothing will do that.
        var refusal: Duration?
        var isFailing = false
        var pause = Backoff(from: .milliseconds(5), to: .milliseconds(100))

        /// Each keeps its message in memory, so beyond the limit the owner has to fetch.
        mutating func add(_ fetch: @escaping Fetch, of key: Int64) {
            if fetches.count < maximumMessages { fetches.append((key, fetch)) }
        }
    }

    private let settings: ReplicaSettings
    /// How long the owner has time to read a message and to fetch the rest itself.
    private let fetchDelay: Duration
    private let logger: Logger
    private let connection: ReplicaConnection
    private let fetchConnection: ReplicaConnection
    private let queue = DispatchQueue(label: "balloon.replica.intake")
    private let fetchQueue = DispatchQueue(label: "balloon.replica.fetch")
    private let state = Mutex(State())

    private static let maximumMessages = 1_024
    private static let maximumBytes = 64 << 20
    private static let batchMessages = 64
    private static let batchBytes = 1 << 20
    private static let maximumFetches = 32
    private static let maximumFetchedBytes = 8 << 20
    /// How many messages may be answered without an owner.
    private static let maximumAnswered = 1_000_000
    /// The longest wait, which is shorter than the time that the HTTP server has for an answer.
    private static let maximumWait = Duration.seconds(50)

    /// Creates an intake, which connects at the first message.
    package init(_ settings: ReplicaSettings, fetchDelay: Duration = .milliseconds(500), logger: Logger) {
        (self.settings, self.fetchDelay, self.logger) = (settings, fetchDelay, logger)
        let connect = { @Sendable () throws(PostgresError) in
            try PostgresConnection(settings.url, name: "balloon intake")
        }
        (connection, fetchConnection) = (ReplicaConnection(connect), ReplicaConnection(connect))
    }

    /// Keeps a message; `completion` is called once, from any thread, with false when the sender must try again.
    ///
    /// That is at once when too many messages wait or the owner refuses it, after some seconds when the database does not
    /// commit it, and after the lease and five seconds when the owner does not read it, also when the database ceases to
    /// answer meanwhile. Such a message may be kept nevertheless. `fetch` is called for a message that no owner reads at once.
    package func keep(
        _ content: [UInt8], fetch: Fetch? = nil, completion: @escaping @Sendable (Bool) -> Void
    ) {
        let now = SystemClock.sinceBoot()
        let message = Message(
            content: content, fetch: fetch, arrived: now, deadline: now + settings.patience,
            completion: completion)
        let begins = state.withLock { state -> Bool? in
            guard state.new.count + state.waiting.count < Self.maximumMessages,
                state.contentBytes + content.count <= Self.maximumBytes
            else { return nil }
            state.new.append(message)
            state.contentBytes += content.count
            defer { state.isWorking = true }
            return !state.isWorking
        }
        guard let begins else { return completion(false) }
        if begins { queue.async { self.work() } }
        refuseNew(at: message.deadline)
    }

    /// Commits what is new, and asks for what waits, until nothing is left.
    private func work() {
        do throws(PostgresError) {
            let isOwned = try commitNew()
            try endWaits()
            note(isOwned ? nil : "no owner reads messages, or too many wait for one")
        } catch {
            note("\(error)")
            queueWaiting()
        }
        refuseOverdue()
        let pause = state.withLock { state -> Duration? in
            state.isWorking = !state.new.isEmpty || !state.waiting.isEmpty
            return !state.isWorking
                ? nil : state.new.isEmpty || state.isFailing ? state.pause.fail() : .zero
        }
        guard let pause else { return }
        queue.asyncAfter(deadline: .now() + pause.dispatchInterval) { self.work() }
    }

    /// Commits what waits for the owner again, with the same keys, after the connection ended.
    ///
    /// The next connection may reach a promoted standby that lost the rows, where a missing row was read by nobody. The owner
    /// stores a message that it has read before only once. However often that happens, a message waits no longer than it
    /// would for the owner.
    private func queueWaiting() {
        let first = state.withLock { state -> Duration? in
            var first: Duration?
            for number in state.waiting.keys.sorted() {
                guard var message = state.waiting.removeValue(forKey: number) else { continue }
                message.deadline = message.arrived + longestWait
                first = min(first ?? message.deadline, message.deadline)
                state.new.append(message)
            }
            return first
        }
        if let first { refuseNew(at: first) }
    }

    /// Logs the first of several failures.
    private func note(_ reason: String?) {
        let wasFailing = state.withLock { state in
            defer { state.isFailing = reason != nil }
            return state.isFailing
        }
        guard let reason, !wasFailing else { return }
        logger.error("messages cannot be kept for the owner of the store", metadata: ["reason": "\(reason)"])
    }

    /// Commits the oldest new messages, or refuses them and returns false.
    private func commitNew() throws(PostgresError) -> Bool {
        var batch = state.withLock { state in
            var sizeBytes = 0
            return Array(
                state.new.prefix(Self.batchMessages).prefix { message in
                    defer { sizeBytes += message.content.count }
                    return sizeBytes < Self.batchBytes
                })
        }
        if batch.isEmpty { return true }
        // An owner that begins to serve locks the table before, so it reads the rows of a transaction that did not see it serve. An owner of
        // an earlier version never has its epoch in `intake`, and reads none.
        let rows = try connection.run(
            """
            INSERT INTO balloon.intake (key, content) SELECT key, content
            FROM balloon.owner, unnest($1::bigint[], $2::bytea[]) WITH ORDINALITY AS new (key, content, place)
            WHERE intake = epoch AND (serves OR $3::bigint < \(Self.maximumAnswered)) ORDER BY place
            ON CONFLICT (key) DO UPDATE SET refused = false
            RETURNING key, number, (SELECT serves::int::bigint FROM balloon.owner)
            """,
            [
                .numbers(batch.map(\.key)), .pieces(batch.map { settings.form.write($0.content) }),
                .number(Int64(state.withLock(\.answered))),
            ], name: "keep")
        let isServed = rows.first?[2].number == 1
        let numbers = Dictionary(rows.map { ($0[0].number, $0[1].number) }) { first, _ in first }
        // Those of messages that were refused during the transaction.
        var refused: [Int64] = []
        state.withLock { state in
            state.pause.reset()
            state.answered = isServed ? 0 : state.answered + rows.count
            batch = batch.compactMap { message in
                let new = state.new.remove { $0.key == message.key }
                if new == nil, let number = numbers[message.key] { refused.append(number) }
                return new
            }
            for message in batch {
                guard let number = numbers[message.key] else { continue }
                if isServed {
                    state.waiting[number] = message
                } else if let fetch = message.fetch {
                    state.add(fetch, of: message.key)
                }
            }
        }
        if isServed { fetchLater(batch.filter { $0.fetch != nil }.compactMap { numbers[$0.key] }) }
        runFetches()
        if !isServed { end(batch, isKept: !rows.isEmpty) }
        if !refused.isEmpty { try remove(refused) }
        return !rows.isEmpty
    }

    /// Ends the waits for rows that the owner has read or refused, or that the next owner will read before it serves.
    private func endWaits() throws(PostgresError) {
        let numbers = state.withLock { Array($0.waiting.keys) }
        if numbers.isEmpty { return }
        let rows = try connection.run(
            """
            SELECT (o.intake = o.epoch AND NOT o.serves)::int::bigint, coalesce(i.number, 0), coalesce(i.refused, false)::int::bigint
            FROM balloon.owner o LEFT JOIN balloon.intake i ON i.number = ANY($1)
            """, [.numbers(numbers)], name: "wait")
        let isOpen = rows.first?[0].number == 1
        let left = Set(rows.map { $0[1].number })
        let refused = rows.filter { $0[2].number == 1 }.map { $0[1].number }
        if !refused.isEmpty {
            end(take(refused), isKept: false)
            try remove(refused)
        }
        if isOpen { fetch(numbers.filter(left.contains)) }
        let kept = take(numbers.filter { isOpen || !left.contains($0) })
        if !kept.isEmpty { state.withLock { $0.pause.reset() } }
        end(kept, isKept: true)
    }

    /// Fetches the rest of messages that the owner has not read by then.
    private func fetchLater(_ numbers: [Int64]) {
        if numbers.isEmpty { return }
        queue.asyncAfter(deadline: .now() + fetchDelay.dispatchInterval) { self.fetch(numbers) }
    }

    /// Fetches the rest of those messages that still wait.
    private func fetch(_ numbers: [Int64]) {
        state.withLock { state in
            for number in numbers {
                guard let key = state.waiting[number]?.key else { continue }
                if let fetch = state.waiting[number]?.fetch.take() { state.add(fetch, of: key) }
            }
        }
        runFetches()
    }

    private func runFetches() {
        while let (key, fetch) = nextFetch() {
            Task {
                if let content = await fetch(), content.count <= Self.maximumFetchedBytes {
                    replaceContent(of: key, by: content)
                    await fetchQueue.run { [settings, fetchConnection] in
                        // Without a database, the owner tries to fetch it. A promoted standby may have given the row's number to
                        // another message, so the key names it.
                        _ = try? fetchConnection.run(
                            "UPDATE balloon.intake SET content = $2 WHERE key = $1",
                            [.number(key), .bytes(settings.form.write(content))], within: .seconds(30))
                    }
                }
                state.withLock { $0.runningFetches -= 1 }
                runFetches()
            }
        }
    }

    /// Lets a message that is committed again have its rest, which cannot be fetched a second time.
    ///
    /// Beyond the limit of bytes it stays as it was, and the owner has to fetch.
    private func replaceContent(of key: Int64, by content: [UInt8]) {
        state.withLock { state in
            let number = state.waiting.first { $0.value.key == key }?.key
            let place = state.new.firstIndex { $0.key == key }
            guard var message = number.flatMap({ state.waiting[$0] }) ?? place.map({ state.new[$0] }) else {
                return
            }
            let sizeBytes = state.contentBytes - message.content.count + content.count
            if sizeBytes > Self.maximumBytes { return }
            (message.content, state.contentBytes) = (content, sizeBytes)
            if let number { state.waiting[number] = message } else if let place { state.new[place] = message }
        }
    }

    private func nextFetch() -> (key: Int64, fetch: Fetch)? {
        state.withLock { state in
            guard state.runningFetches < Self.maximumFetches, let next = state.fetches.popFirst() else {
                return nil
            }
            state.runningFetches += 1
            return next
        }
    }

    /// Refuses the new messages that are overdue at a time, and again until there are none.
    ///
    /// It waits for no statement, because the database may not answer.
    private func refuseNew(at deadline: Duration) {
        let isNext = state.withLock { state -> Bool in
            if let refusal = state.refusal, refusal <= deadline { return false }
            state.refusal = deadline
            return true
        }
        if !isNext { return }
        let pause = max(.zero, deadline - SystemClock.sinceBoot())
        DispatchQueue.global().asyncAfter(deadline: .now() + pause.dispatchInterval) { [self] in
            let now = SystemClock.sinceBoot()
            let (refused, next) = state.withLock { state -> ([Message], Duration?) in
                // A later call may have made an earlier one superfluous, which ends here, too.
                if let refusal = state.refusal, refusal <= max(now, deadline) { state.refusal = nil }
                let refused = state.new.filter { $0.deadline <= now }
                if !refused.isEmpty {
                    let left = state.new.filter { $0.deadline > now }
                    state.new = Deque()
                    for message in left { state.new.append(message) }
                }
                return (refused, state.new.map(\.deadline).min())
            }
            end(refused, isKept: false)
            if let next { refuseNew(at: next) }
        }
    }

    /// How long a message may wait for the owner.
    private var longestWait: Duration { min(settings.lease + .seconds(5), Self.maximumWait) }

    /// Refuses what the owner has not read for too long, and removes its rows.
    private func refuseOverdue() {
        let now = SystemClock.sinceBoot()
        let overdue = state.withLock { state in
            state.waiting.filter { now - $0.value.arrived > longestWait }.map(\.key)
        }
        if overdue.isEmpty { return }
        // Without an answer of the database, each counts as removed.
        let removed = try? connection.run(
            "DELETE FROM balloon.intake WHERE number = ANY($1) RETURNING number", [.numbers(overdue)])
        let isRemoved = Set(removed.map { $0.map { $0[0].number } } ?? overdue)
        end(take(overdue.filter { !isRemoved.contains($0) }), isKept: true)
        end(take(overdue), isKept: false)
        if removed == nil { queueWaiting() }
    }

    /// Removes the rows of messages whose senders were told to try again; without an answer of the database, they stay.
    private func remove(_ numbers: [Int64]) throws(PostgresError) {
        try connection.run("DELETE FROM balloon.intake WHERE number = ANY($1)", [.numbers(numbers)])
    }

    private func take(_ numbers: [Int64]) -> [Message] {
        state.withLock { state in numbers.compactMap { state.waiting.removeValue(forKey: $0) } }
    }

    private func end(_ messages: [Message], isKept: Bool) {
        state.withLock { state in for message in messages { state.contentBytes -= message.content.count } }
        for message in messages { message.completion(isKept) }
    }
}
