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
        let content: [UInt8]
        let fetch: Fetch?
        let arrived: Duration
        let completion: @Sendable (Bool) -> Void
    }

    private struct State {
        /// The messages that are not committed yet.
        var new = Deque<Message>()
        /// The messages that the owner has not read yet, by the numbers of their rows.
        var waiting: [Int64: Message] = [:]
        var contentBytes = 0
        var fetches = 0
        var isWorking = false
        var isFailing = false
        var pause = Backoff(from: .milliseconds(5), to: .milliseconds(100))
    }

    private let settings: ReplicaSettings
    private let logger: Logger
    private let connection: ReplicaConnection
    private let queue = DispatchQueue(label: "balloon.replica.intake")
    private let state = Mutex(State())

    private static let maximumMessages = 1_024
    private static let maximumBytes = 64 << 20
    private static let batchMessages = 64
    private static let batchBytes = 1 << 20
    private static let maximumFetches = 32
    /// How long the owner has time to read a message and to fetch that itself.
    private static let fetchDelay = Duration.milliseconds(500)
    /// How many rows may wait for an owner that does not come.
    private static let maximumRows = 1_000_000

    /// Creates an intake, which connects at the first message.
    package init(_ settings: ReplicaSettings, logger: Logger) {
        (self.settings, self.logger) = (settings, logger)
        connection = ReplicaConnection { () throws(PostgresError) in
            try PostgresConnection(settings.url, name: "balloon intake")
        }
    }

    /// Keeps a message; `completion` is called once, from any thread, with false when the sender must try again.
    ///
    /// That is at once when too many messages wait, after three seconds without a database, and after the lease and five seconds when the
    /// owner does not read. Such a message may be kept nevertheless. `fetch` is called for a message that no owner reads at once.
    package func keep(
        _ content: [UInt8], fetch: Fetch? = nil, completion: @escaping @Sendable (Bool) -> Void
    ) {
        let message = Message(
            content: content, fetch: fetch, arrived: SystemClock.sinceBoot(), completion: completion)
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
    }

    /// Commits what is new, and asks for what waits, until nothing is left.
    private func work() {
        do throws(PostgresError) {
            try commitNew()
            try endWaits()
            note(nil)
        } catch { note(error) }
        refuseOverdue()
        let pause = state.withLock { state -> Duration? in
            state.isWorking = !state.new.isEmpty || !state.waiting.isEmpty
            return !state.isWorking
                ? nil : state.new.isEmpty || state.isFailing ? state.pause.fail() : .zero
        }
        guard let pause else { return }
        queue.asyncAfter(deadline: .now() + pause.dispatchInterval) { self.work() }
    }

    /// Logs the first of several failures.
    private func note(_ error: PostgresError?) {
        let wasFailing = state.withLock { state in
            defer { state.isFailing = error != nil }
            return state.isFailing
        }
        guard let error, !wasFailing else { return }
        logger.error("messages cannot be kept for the owner of the store", metadata: ["reason": "\(error)"])
    }

    /// Commits the oldest new messages.
    private func commitNew() throws(PostgresError) {
        let batch = state.withLock { state in
            var sizeBytes = 0
            return Array(
                state.new.prefix(Self.batchMessages).prefix { message in
                    defer { sizeBytes += message.content.count }
                    return sizeBytes < Self.batchBytes
                })
        }
        if batch.isEmpty { return }
        // The lock makes a server that begins to serve wait for this transaction, so that it reads the rows. A server of an earlier
        // version never has its epoch in `intake`, and would not read them.
        let rows = try connection.run(
            """
            WITH owner AS MATERIALIZED (SELECT serves FROM balloon.owner WHERE intake = epoch FOR SHARE)
            INSERT INTO balloon.intake (content)
            SELECT content FROM owner, unnest($1::bytea[]) WITH ORDINALITY AS new (content, place)
            WHERE coalesce((SELECT max(number) - min(number) FROM balloon.intake), 0) < \(Self.maximumRows)
            ORDER BY place RETURNING number, (SELECT serves::int::bigint FROM owner)
            """, [.pieces(batch.map { settings.form.write($0.content) })], name: "keep")
        let isServed = rows.first?[1].number == 1
        state.withLock { state in
            state.pause.reset()
            for _ in batch { _ = state.new.popFirst() }
            if isServed { for (row, message) in zip(rows, batch) { state.waiting[row[0].number] = message } }
        }
        for (row, message) in zip(rows, batch) {
            if let fetch = message.fetch {
                replace(row[0].number, after: isServed ? Self.fetchDelay : .zero, by: fetch)
            }
        }
        if !isServed { end(batch, isKept: !rows.isEmpty) }
    }

    /// Replaces the content of a row that the owner has not read by then.
    private func replace(_ number: Int64, after delay: Duration, by fetch: @escaping Fetch) {
        let isBegun = state.withLock { state in
            guard state.fetches < Self.maximumFetches else { return false }
            state.fetches += 1
            return true
        }
        guard isBegun else { return }
        Task {
            defer { state.withLock { $0.fetches -= 1 } }
            if delay > .zero {
                try? await Task.sleep(for: delay)
                guard state.withLock({ $0.waiting[number] != nil }) else { return }
            }
            guard let content = await fetch() else { return }
            await queue.run { [settings, connection] in
                // Without a database the owner tries to fetch it.
                _ = try? connection.run(
                    "UPDATE balloon.intake SET content = $2 WHERE number = $1",
                    [.number(number), .bytes(settings.form.write(content))], within: .seconds(30))
            }
        }
    }

    /// Ends the waits for rows that the owner has read, or that the next owner will read before it serves.
    private func endWaits() throws(PostgresError) {
        let numbers = state.withLock { Array($0.waiting.keys) }
        if numbers.isEmpty { return }
        let rows = try connection.run(
            """
            SELECT (o.intake = o.epoch AND NOT o.serves)::int::bigint, coalesce(i.number, 0)
            FROM balloon.owner o LEFT JOIN balloon.intake i ON i.number = ANY($1)
            """, [.numbers(numbers)], name: "wait")
        let isOpen = rows.first?[0].number == 1
        let left = Set(rows.map { $0[1].number })
        let kept = take(numbers.filter { isOpen || !left.contains($0) })
        if !kept.isEmpty { state.withLock { $0.pause.reset() } }
        end(kept, isKept: true)
    }

    /// Refuses what has waited for too long, and removes its rows.
    private func refuseOverdue() {
        let now = SystemClock.sinceBoot()
        let longest = settings.lease + .seconds(5)
        let (refused, overdue) = state.withLock { state in
            var refused: [Message] = []
            while let first = state.new.first, now - first.arrived > settings.patience {
                refused.append(first)
                _ = state.new.popFirst()
            }
            return (refused, state.waiting.filter { now - $0.value.arrived > longest }.map(\.key))
        }
        end(refused, isKept: false)
        if overdue.isEmpty { return }
        // Without an answer of the database, each counts as removed.
        let removed = try? connection.run(
            "DELETE FROM balloon.intake WHERE number = ANY($1) RETURNING number", [.numbers(overdue)])
        let isRemoved = Set(removed.map { $0.map { $0[0].number } } ?? overdue)
        end(take(overdue.filter { !isRemoved.contains($0) }), isKept: true)
        end(take(overdue), isKept: false)
    }

    private func take(_ numbers: [Int64]) -> [Message] {
        state.withLock { state in numbers.compactMap { state.waiting.removeValue(forKey: $0) } }
    }

    private func end(_ messages: [Message], isKept: Bool) {
        state.withLock { state in for message in messages { state.contentBytes -= message.content.count } }
        for message in messages { message.completion(isKept) }
    }
}
