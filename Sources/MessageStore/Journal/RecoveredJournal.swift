import BalloonPOSIX
import BusinessMessages

/// What the records of a journal add up to, one after the other.
struct RecoveredJournal: Sendable {
    /// A message, its conversation and what became of it.
    struct Recovered: Sendable {
        let conversation: ConversationKey
        var state: MessageState
    }

    /// The number of the next record to be written.
    private(set) var nextRecord: UInt64 = 1
    private(set) var index: MessageIndex
    /// Whether a sync of conversations failed after the last checkpoint.
    private(set) var isUnsynced = false
    /// When the latest message came in; nil when there is none.
    private(set) var latestMessageAt: Timestamp?
    /// What each segment is needed for.
    private(set) var ledger = SegmentLedger()
    /// The messages that something is left to do for: a delivery, a reply, or a line that may not be on disk.
    private var open: [UInt64: Recovered] = [:]
    /// The replies whose failures are events of their own.
    private var reported: Set<ReplyID> = []
    /// The messages with lines that may not be on disk, by the records that ended their deliveries or replies.
    private var unsynced: [UInt64: UInt64] = [:]

    /// Where the lines stand about each message that is open or unsynced, by its record.
    private var lines: [UInt64: [JournalSnapshot.Line]] = [:]
    /// Whether lines of a snapshot are read, all of which count.
    private var isRestoring = false

    /// Where the lines about the messages stand that something is left to do for, in the order of their records.
    var openLines: [JournalSnapshot.Line] { lines.values.flatMap(\.self).sorted { $0.record < $1.record } }

    /// Goes on from a snapshot, with the records of its open lines in their order.
    ///
    /// `first` is the first segment that is there: what was in earlier ones is forgotten.
    init(
        _ configuration: StoreConfiguration, _ snapshot: JournalSnapshot, first: UInt64,
        records: [(JournalRecord, JournalSnapshot.Line)]
    ) {
        self.init(configuration)
        isRestoring = true
        for (record, line) in records { apply(record, number: line.record, at: line.location) }
        isRestoring = false
        applyCheckpoint(snapshot.ledger.checkpoint)
        nextRecord = snapshot.nextRecord
        isUnsynced = snapshot.isUnsynced
        latestMessageAt = snapshot.latestMessageAt
        index = snapshot.index
        index.forget(before: first)
        ledger = snapshot.ledger
        ledger.remove(before: first)
    }

    /// Adds up the records of a store with this configuration.
    init(_ configuration: StoreConfiguration) {
        index = MessageIndex(
            window: configuration.deduplicationWindow,
            maximumCount: configuration.maximumRememberedMessages)
    }

    /// The messages whose delivery has not ended, in the order of their records.
    var undelivered: [Recovered] {
        open.values.filter { !$0.state.isDelivered }.sorted { $0.state.record < $1.state.record }
    }

    /// The messages with a delivery or a reply that has not ended.
    var unended: [Recovered] { open.values.filter { !$0.state.isDelivered || $0.state.hasQueuedReply } }

    /// The messages with replies that have not ended, in the order in which those were decided.
    var withQueuedReplies: [Recovered] {
        open.values.filter { $0.state.hasQueuedReply }
            .sorted { ($0.state.decision?.record ?? 0) < ($1.state.decision?.record ?? 0) }
    }

    /// The messages whose conversation lines may be missing, in the order of their records.
    var unwritten: [Recovered] {
        open.values.filter { $0.state.kind != nil || $0.state.isReplyFailure }.sorted {
            $0.state.record < $1.state.record
        }
    }

    /// Goes past numbers that must not be given out.
    mutating func skip(to record: UInt64) { nextRecord = max(nextRecord, record) }

    /// Takes in a record; types that are not known are kept in the file and have no effect.
    mutating func apply(_ record: JournalRecord, number: UInt64, at location: RecordLocation) {
        skip(to: number + 1)
        defer { keep(record, JournalSnapshot.Line(record: number, location: location)) }
        switch record {
        case .message(let message): add(message, record: number, at: location)
        case .checkpoint(let through): applyCheckpoint(through)
        case .unsynced: isUnsynced = true
        case .segment(let at): ledger.begin(location.segment, at: at)
        case .dropped(let message, let reply): ledger.recordDecision(about: DeadLetter(message, reply: reply))
        case .carried(let message, let reply):
            ledger.recordCarried(DeadLetter(message, reply: reply), in: location.segment)
        case .resolved(let of), .files(let of): open[of]?.state.apply(record, number: number, at: location)
        case .attempt(let attempt): open[attempt.of]?.state.apply(record, number: number, at: location)
        case .replyAttempt(let attempt): open[attempt.of]?.state.apply(record, number: number, at: location)
        case .outcome(let outcome): decide(outcome, record, number: number, at: location)
        case .reply(let reply):
            end(reply, record, number: number, at: location)
            report(reply, record, number: number, at: location)
        case .finished(let finished): end(finished, record, number: number, at: location)
        case .other: break
        }
    }

    /// Counts a crash for those of the deliveries that were not decided; returns the records that say so.
    mutating func countCrashes(of deliveries: Set<UInt64>) -> [JournalEntry] {
        deliveries.sorted().compactMap { record in
            guard let found = open[record]?.state, !found.isDecided, !found.isDelivered else { return nil }
            let attempt = JournalRecord.Attempt(
                of: record, number: Int(found.attempt) + 1, isCrash: true, isParked: false, next: nil)
            open[record]?.state.apply(.attempt(attempt), number: 0, at: found.location)
            return JournalEntry(
                body: JournalBody.crashedAttempt(of: record, attempt.number, at: .now()), waiter: .nobody)
        }
    }

    private mutating func add(
        _ message: JournalRecord.Message, record: UInt64, at location: RecordLocation
    ) {
        let at = message.at ?? .now()
        latestMessageAt = max(latestMessageAt ?? at, at)
        ledger.begin(location.segment, at: at)
        // Of two with an identity the first counts. But one that came when the first was forgotten was taken for
        // another message, and acknowledged.
        if let replayed = message.replayOf {
            ledger.recordDecision(about: DeadLetter(replayed, reply: message.retriedReply))
        } else if !isRestoring, let first = index.recover(message.key, record: record, at: at),
            isUnended(first)
        {
            return
        }
        ledger.recordOpen(1, in: location.segment)
        open[record] = Recovered(
            conversation: message.conversation, state: MessageState(message, record: record, at: location))
    }

    private func isUnended(_ record: UInt64) -> Bool {
        open[record].map { !$0.state.isDelivered || $0.state.hasQueuedReply } ?? false
    }

    private mutating func decide(
        _ outcome: JournalRecord.Outcome, _ record: JournalRecord, number: UInt64, at location: RecordLocation
    ) {
        guard let state = open[outcome.of]?.state, !state.isDecided else { return }
        open[outcome.of]?.state.apply(record, number: number, at: location)
        // In the message's own segment: without the message the outcome means nothing.
        ledger.recordOpen(outcome.replies, in: state.location.segment)
    }

    private mutating func end(
        _ reply: JournalRecord.Reply, _ record: JournalRecord, number: UInt64, at location: RecordLocation
    ) {
        guard let state = open[reply.of]?.state, state.isQueued(reply.index) else { return }
        open[reply.of]?.state.apply(record, number: number, at: location)
        unsynced[number] = reply.of
        let letter = reply.status.isDeadLetter ? DeadLetter(reply.of, reply: reply.index) : nil
        ledger.recordEnd(in: state.location.segment, deadLetter: letter, by: number)
    }

    /// Opens the event that tells of a failed reply, once though the reply's end was written twice.
    private mutating func report(
        _ reply: JournalRecord.Reply, _ record: JournalRecord, number: UInt64, at location: RecordLocation
    ) {
        guard reply.reportedIn != nil,
            reported.insert(ReplyID(record: reply.of, index: reply.index)).inserted
        else { return }
        open[number] = Recovered(begunBy: record, number: number, at: location)
        ledger.recordOpen(1, in: location.segment)
    }

    private mutating func end(
        _ finished: JournalRecord.Finished, _ record: JournalRecord, number: UInt64,
        at location: RecordLocation
    ) {
        guard let before = open[finished.of]?.state, before.end == nil else { return }
        open[finished.of]?.state.apply(record, number: number, at: location)
        unsynced[number] = finished.of
        // What the business sends of its own accord has no delivery: its reply is counted.
        if before.outboundKind == nil {
            let letter = finished.result.isDeadLetter ? DeadLetter(finished.of, reply: nil) : nil
            ledger.recordEnd(in: before.location.segment, deadLetter: letter, by: number)
        }
        // Earlier versions ended replies together with their delivery.
        guard let after = open[finished.of]?.state else { return }
        for index in after.replies.indices where before.isQueued(index) && !after.isQueued(index) {
            ledger.recordEnd(
                in: after.location.segment, deadLetter: DeadLetter(finished.of, reply: index), by: number)
        }
    }

    private mutating func keep(_ record: JournalRecord, _ line: JournalSnapshot.Line) {
        if case .message = record {
            if open[line.record] != nil { lines[line.record] = [line] }
        } else if let subject = record.subject {
            lines[subject]?.append(line)
        }
    }

    private mutating func applyCheckpoint(_ through: UInt64) {
        isUnsynced = false
        ledger.recordCheckpoint(through: through)
        for (end, message) in unsynced where end <= through {
            unsynced[end] = nil
            guard let state = open[message]?.state, state.isDelivered, !state.hasQueuedReply else { continue }
            guard state.lastEnd <= through else { continue }
            open[message] = nil
            lines[message] = nil
        }
    }
}
