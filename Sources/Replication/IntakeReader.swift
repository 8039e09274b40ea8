import BalloonPOSIX
import Dispatch
import Logging
import Synchronization

/// Reads the messages that other servers took for the owner: see ``Intake``.
final class IntakeReader: Sendable {
    /// Stores a message, and calls the completion, with false when it must be tried again; returns false when it is none.
    typealias Storing = @Sendable ([UInt8], _ completion: @escaping @Sendable (Bool) -> Void) -> Bool

    private struct State {
        /// The last row of a message that may have been answered before this server served; nil before it serves.
        var answered: Int64?
        var isEnded = false
        var isFailing = false
        /// The rows that cannot be opened; they stay where they are.
        var unreadable: Set<Int64> = []
        var count = 0
        /// Called when the answered messages are read.
        var whenRead: (@Sendable () -> Void)?
        var pause = Backoff(from: .milliseconds(5), to: .milliseconds(100))
    }

    private let epoch: Int64
    private let form: PieceForm
    private let logger: Logger
    private let connection: ReplicaConnection
    private let store: Storing
    private let queue = DispatchQueue(label: "balloon.replica.intake")
    private let state = Mutex(State())

    /// How many rows are read at once; each has at most the 10 MiB of a message.
    private static let batchMessages = 16
    private static let maximumUnreadable = 1_000

    init(
        epoch: Int64, form: PieceForm, connection: ReplicaConnection, logger: Logger,
        store: @escaping Storing
    ) {
        (self.epoch, self.form, self.connection) = (epoch, form, connection)
        (self.logger, self.store) = (logger, store)
    }

    /// Begins to read; returns false when the messages that were answered until now were not read within `limit`.
    ///
    /// From then on, the other servers wait until their messages were read.
    func begin(within limit: Duration) async -> Bool {
        let end: Void? = await Task {
            await withCheckedContinuation { continuation in
                state.withLock { $0.whenRead = { continuation.resume() } }
                queue.async { self.work() }
            }
        }.value(within: limit)
        return end != nil
    }

    /// Ends the reading; from then on, rows are for the next owner, and the other servers need not wait any more.
    func end() async {
        await queue.run {
            let whenRead = self.state.withLock { state in
                state.isEnded = true
                return state.whenRead.take()
            }
            whenRead?()
            // Without a database, they wait until the store is released.
            _ = try? self.connection.run(
                "UPDATE balloon.owner SET serves = false WHERE epoch = $1", [.number(self.epoch)])
        }
    }

    private func work() {
        if state.withLock(\.isEnded) { return }
        let pause: Duration
        do throws(PostgresError) {
            let isProgress = try read()
            pause = state.withLock { state in
                state.isFailing = false
                if isProgress { state.pause.reset() }
                return isProgress ? .zero : state.pause.fail()
            }
        } catch {
            let wasFailing = state.withLock { state in
                defer { state.isFailing = true }
                return state.isFailing
            }
            if !wasFailing {
                logger.error(
                    "the messages that other servers took cannot be read", metadata: ["reason": "\(error)"])
            }
            pause = .milliseconds(200)
        }
        queue.asyncAfter(deadline: .now() + pause.dispatchInterval) { [weak self] in self?.work() }
    }

    /// Reads the oldest rows, stores their messages in order, and removes them; returns false when there was nothing to do.
    private func read() throws(PostgresError) -> Bool {
        let answered = try opened()
        let unreadable = state.withLock(\.unreadable)
        let rows = try connection.run(
            """
            SELECT number, content FROM balloon.intake WHERE number <> ALL($1) ORDER BY number
            LIMIT \(Self.batchMessages)
            """, [.numbers(unreadable.sorted())], name: "read", within: .seconds(30))
        if rows.first.map({ $0[0].number > answered }) ?? true { endWait() }
        if rows.isEmpty { return false }
        let stored = Mutex<[Int64]>([])
        let group = DispatchGroup()
        for row in rows {
            let number = row[0].number
            group.enter()
            let content = try? form.read(row[1].content)
            let isReadable = content.map { content in
                store(content) { isStored in
                    if isStored { stored.withLock { $0.append(number) } }
                    group.leave()
                }
            }
            guard isReadable != true else { continue }
            group.leave()
            leave(number)
        }
        group.wait()
        let numbers = stored.withLock(\.self)
        if numbers.isEmpty { return false }
        try connection.run(
            "DELETE FROM balloon.intake WHERE number = ANY($1)", [.numbers(numbers)], name: "remove")
        state.withLock { $0.count += numbers.count }
        return true
    }

    /// Returns the last row of a message that may have been answered without an owner; makes the others wait for this one.
    private func opened() throws(PostgresError) -> Int64 {
        if let answered = state.withLock(\.answered) { return answered }
        // It waits for the transactions that saw no owner serve, so their rows are there afterwards.
        try connection.run("UPDATE balloon.owner SET serves = true WHERE epoch = $1", [.number(epoch)])
        let rows = try connection.run("SELECT coalesce(max(number), 0) FROM balloon.intake")
        let answered = rows.first?[0].number ?? 0
        state.withLock { $0.answered = answered }
        return answered
    }

    private func endWait() {
        let (count, whenRead) = state.withLock { ($0.count, $0.whenRead.take()) }
        guard let whenRead else { return }
        if count > 0 {
            logger.notice(
                "messages read that other servers took without an owner", metadata: ["count": "\(count)"])
        }
        whenRead()
    }

    /// Leaves a row where it is until the server starts again.
    private func leave(_ number: Int64) {
        state.withLock { if $0.unreadable.count < Self.maximumUnreadable { $0.unreadable.insert(number) } }
        logger.error(
            "a message that another server took cannot be read; its \"sealKey\" or its version differs from this server's",
            metadata: ["number": "\(number)"])
    }
}
