import BalloonPOSIX
import BusinessMessages

/// The state of a journal, computed from its records in order.
struct RecoveredJournal: Sendable {
    /// A message, with its conversation and its state.
    struct Recovered: Sendable {
        let conversation: ConversationKey
        var state: MessageState
        /// The identity of a proactive message; nil for other messages.
        var key: MessageKey?
    }

    /// The number of the next record to be written.
    private(set) var nextRecord: UInt64 = 1
    private(set) var index: MessageIndex
    /// Whether a sync of conversations failed after the last checkpoint.
    private(set) var isUnsynced = false
    /// The arrival time of the latest message; nil when there is none.
    private(set) var latestMessageAt: Timestamp?
    /// The ledger of segments: the reasons why each segment is still needed.
    private(set) var ledger = SegmentLedger()
    /// The assignments of conversations.
    private(set) var assignments = AssignmentTable()
    /// The messages with unfinished work: a delivery, a reply, or a conversation line that may not be on
    /// disk.
    private var open: [UInt64: Recovered] = [:]
    /// The records that ended a delivery or a reply after the last checkpoint, in order, each with its
    /// message.
    ///
    /// The conversation lines of these deliveries and replies may not be on disk.
    private var unsynced: [(end: UInt64, message: UInt64)] = []
    /// The places of the journal lines of unfinished messages, in the order of the lines' records.
    ///
    /// The list may also have lines of messages that have finished since.
    private var lines: [JournalSnapshot.Line] = []
    /// The size of `lines` at which the lines of finished messages are removed from it.
    private var maximumLines = 4096
    /// Whether the records of a snapshot's lines are being applied; they are known to be valid.
    private var isRestoring = false

    /// The places of the journal lines of unfinished messages, in the order of the lines' records.
    var openLines: [JournalSnapshot.Line] { lines.filter { open[$0.message] != nil } }

    /// Restores the state from a snapshot, and from the records of the snapshot's open lines in order.
    ///
    /// `first` is the first segment that still exists: the messages of earlier segments are dropped.
    init(
        _ configuration: StoreConfiguration, _ snapshot: JournalSnapshot, first: UInt64,
        records: [(JournalRecord, JournalSnapshot.Line)]
    ) {
        self.init(configuration)
        isRestoring = true
        var last: UInt64 = 0
        // A line that concerns two messages is listed twice, but must be applied once.
        for (record, line) in records where line.record > last {
            apply(record, number: line.record, at: line.location)
            last = line.record
        }
        isRestoring = false
        let messages = Set(records.map(\.1.message))
        open = open.filter { messages.contains($0.key) }
        applyCheckpoint(snapshot.ledger.checkpoint)
        nextRecord = snapshot.nextRecord
        isUnsynced = snapshot.isUnsynced
        latestMessageAt = snapshot.latestMessageAt
        index = snapshot.index
        index.forget(before: first)
        ledger = snapshot.ledger
        ledger.remove(before: first)
        assignments = snapshot.assignments
    }

    /// Creates the state of an empty journal, with the limits of this configuration.
    init(_ configuration: StoreConfiguration) {
        index = MessageIndex(
            window: configuration.deduplicationWindow,
            maximumCount: configuration.maximumRememberedMessages)
    }

    /// The messages whose delivery has not ended, in the order of their records.
    var undelivered: [Recovered] { messages { !$0.isDelivered } }

    /// The messages with an unfinished delivery or reply.
    var unended: [Recovered] { open.values.filter { !$0.state.isDelivered || $0.state.hasQueuedReply } }

    /// The messages with unfinished replies, in the order in which the replies were decided.
    var withQueuedReplies: [Recovered] {
        open.values.filter { $0.state.hasQueuedReply }
            .sorted { ($0.state.decision?.record ?? 0) < ($1.state.decision?.record ?? 0) }
    }

    /// The messages whose conversation lines may be missing from the files, in the order of their records.
    var unwritten: [Recovered] { messages { $0.kind != nil || $0.isReplyFailure } }

    /// Returns the messages that satisfy `isWanted`, in the order of their records.
    ///
    /// Sorts record numbers instead of messages, because a message takes hundreds of bytes.
    private func messages(_ isWanted: (MessageState) -> Bool) -> [Recovered] {
        open.filter { isWanted($0.value.state) }.keys.sorted().compactMap { open[$0] }
    }

    /// Ensures that the next records get this number or a higher one.
    mutating func skip(to record: UInt64) { nextRecord = max(nextRecord, record) }

    /// Applies a record; a record of an unknown type has no effect.
    mutating func apply(_ record: JournalRecord, number: UInt64, at location: RecordLocation) {
        skip(to: number + 1)
        keepLine(of: record, number: number, at: location)
        // The snapshot has the assignments after all of its records, so the restored lines must not change
        // them.
        if !isRestoring {
            let open = open
            assignments.apply(record, number: number, segment: location.segment) {
                Self.withUnfinished($0, among: open)
            }
        }
        switch record {
        case .message(let message): add(message, record: number, at: location)
        case .checkpoint(let through): applyCheckpoint(through)
        case .unsynced: isUnsynced = true
        case .segment(let at): ledger.begin(location.segment, at: at)
        case .dropped(let message, let reply): ledger.recordDecision(about: DeadLetter(message, reply: reply))
        case .carried(let message, let reply, let business):
            ledger.recordCarried(DeadLetter(message, reply: reply), of: business, in: location.segment)
        case .resolved(let of), .files(let of): fold(record, into: of, number: number, at: location)
        case .attempt(let attempt): fold(record, into: attempt.of, number: number, at: location)
        case .replyAttempt(let attempt): fold(record, into: attempt.of, number: number, at: location)
        case .outcome(let outcome): decide(outcome, record, number: number, at: location)
        case .reply(let reply):
            // The answered message may be unknown, because its segment was deleted, while the failure is not
            // reported to the handler yet.
            let isKnown = open[reply.of] != nil
            let isFirst = end(reply, record, number: number, at: location)
            if isFirst || isRestoring || !isKnown { report(reply, record, number: number, at: location) }
        case .finished(let finished): end(finished, record, number: number, at: location)
        case .erased(let erased): add(erased, record: number, at: location)
        case .assignment, .other: break
        }
    }

    /// Adds the identity of an erased message, so that a copy of it is still detected; the message has no
    /// unfinished work.
    private mutating func add(_ erased: JournalRecord.Erased, record: UInt64, at location: RecordLocation) {
        guard let key = erased.key else { return }
        let at = erased.at ?? .now()
        latestMessageAt = max(latestMessageAt ?? at, at)
        ledger.begin(location.segment, at: at)
        _ = index.recover(key, record: record, at: at)
    }

    /// Counts a crash for each of these deliveries that is undecided; returns the journal entries for the
    /// crashes.
    mutating func countCrashes(of deliveries: Set<UInt64>) -> [JournalEntry] {
        deliveries.sorted().compactMap { record in
            guard let found = open[record]?.state, !found.isDecided, !found.isDelivered else { return nil }
            let attempt = JournalRecord.Attempt(
                of: record, number: Int(found.attempts) + 1, isCrash: true, isParked: false, next: nil)
            open[record]?.state.apply(.attempt(attempt), number: 0, at: found.location)
            return JournalEntry(
                body: JournalBody.crashedAttempt(of: record, attempt.number, at: .now()), waiter: .none)
        }
    }

    /// Returns the conversations with an unfinished delivery whose record is at most the given one.
    ///
    /// `conversations` gives that record for each conversation in question.
    private static func withUnfinished(
        _ conversations: [ConversationKey: UInt64], among open: [UInt64: Recovered]
    ) -> Set<ConversationKey> {
        Set(
            open.values.lazy.filter { message in
                !message.state.isDelivered
                    && conversations[message.conversation].map { message.state.record <= $0 } ?? false
            }.map(\.conversation))
    }

    private mutating func add(
        _ message: JournalRecord.Message, record: UInt64, at location: RecordLocation
    ) {
        let at = message.at ?? .now()
        latestMessageAt = max(latestMessageAt ?? at, at)
        ledger.begin(location.segment, at: at)
        // While the first of two messages with the same identity is unfinished, the second is ignored. If the
        // first has ended, the second was accepted as a new message after the index had dropped the first.
        if let replayed = message.replayOf {
            ledger.recordDecision(about: DeadLetter(replayed, reply: message.retriedReply))
        } else if !isRestoring, let first = index.recover(message.key, record: record, at: at),
            isUnended(first)
        {
            return
        }
        ledger.recordOpen(1, in: location.segment)
        open[record] = Recovered(
            conversation: message.conversation, state: MessageState(message, record: record, at: location),
            key: message.outboundKind == nil ? nil : message.key)
    }

    private func isUnended(_ record: UInt64) -> Bool {
        open[record].map { !$0.state.isDelivered || $0.state.hasQueuedReply } ?? false
    }

    /// Changes a message in place, because a copy would cost more than the change.
    private mutating func update<Result>(
        _ message: UInt64, _ change: (inout MessageState) -> Result?
    ) -> Result? {
        guard let index = open.index(forKey: message) else { return nil }
        return change(&open.values[index].state)
    }

    private mutating func fold(
        _ record: JournalRecord, into message: UInt64, number: UInt64, at location: RecordLocation
    ) {
        _ = update(message) { $0.apply(record, number: number, at: location) }
    }

    private mutating func decide(
        _ outcome: JournalRecord.Outcome, _ record: JournalRecord, number: UInt64, at location: RecordLocation
    ) {
        let segment = update(outcome.of) { state -> UInt64? in
            if state.isDecided { return nil }
            state.apply(record, number: number, at: location)
            return state.location.segment
        }
        // Replies are counted in the segment of their message, because an outcome cannot be used without the
        // message.
        if let segment { ledger.recordOpen(outcome.replies, in: segment) }
    }

    /// Ends a reply; returns false when it had ended before.
    private mutating func end(
        _ reply: JournalRecord.Reply, _ record: JournalRecord, number: UInt64, at location: RecordLocation
    ) -> Bool {
        let segment = update(reply.of) { state -> UInt64? in
            guard state.isQueued(reply.index) else { return nil }
            state.apply(record, number: number, at: location)
            return state.location.segment
        }
        guard let segment, let business = open[reply.of]?.conversation.business else { return false }
        unsynced.append((number, reply.of))
        let letter = reply.status.isDeadLetter ? DeadLetter(reply.of, reply: reply.index) : nil
        ledger.recordEnd(in: segment, deadLetter: letter, of: business, by: number)
        return true
    }

    /// Adds the event that reports a failed reply, if the record says that the failure is reported.
    private mutating func report(
        _ reply: JournalRecord.Reply, _ record: JournalRecord, number: UInt64, at location: RecordLocation
    ) {
        guard reply.reportedIn != nil else { return }
        open[number] = Recovered(begunBy: record, number: number, at: location)
        ledger.recordOpen(1, in: location.segment)
    }

    private mutating func end(
        _ finished: JournalRecord.Finished, _ record: JournalRecord, number: UInt64,
        at location: RecordLocation
    ) {
        let ended = update(finished.of) { state -> (segment: UInt64, hasDelivery: Bool, replies: [Int])? in
            if state.end != nil { return nil }
            let queued = state.replies.indices.filter { state.isQueued($0) }
            state.apply(record, number: number, at: location)
            // Earlier versions ended a delivery together with its replies.
            return (
                state.location.segment, state.outboundKind == nil, queued.filter { !state.isQueued($0) }
            )
        }
        guard let ended, let key = open[finished.of]?.conversation else { return }
        if !isRestoring, finished.result.reachedHandler { assignments.finish(finished.of, of: key) }
        unsynced.append((number, finished.of))
        // A proactive message has no delivery to count; its reply is counted instead.
        if ended.hasDelivery {
            let letter = finished.result.isDeadLetter ? DeadLetter(finished.of, reply: nil) : nil
            ledger.recordEnd(in: ended.segment, deadLetter: letter, of: key.business, by: number)
        }
        for index in ended.replies {
            ledger.recordEnd(
                in: ended.segment, deadLetter: DeadLetter(finished.of, reply: index), of: key.business,
                by: number)
        }
    }

    private mutating func keepLine(of record: JournalRecord, number: UInt64, at location: RecordLocation) {
        if lines.count >= maximumLines {
            lines.removeAll { open[$0.message] == nil }
            maximumLines = max(4096, lines.count * 2)
        }
        let line = { JournalSnapshot.Line(message: $0, record: number, location: location) }
        if let subject = record.subject { lines.append(line(subject)) }
        if record.beginsEvent { lines.append(line(number)) }
    }

    private mutating func applyCheckpoint(_ through: UInt64) {
        isUnsynced = false
        ledger.recordCheckpoint(through: through)
        let count = unsynced.prefix { $0.end <= through }.count
        for index in 0..<count {
            let message = unsynced[index].message
            let isDone = update(message) { state in
                state.isDelivered && !state.hasQueuedReply && state.lastEnd <= through
            }
            if isDone == true { open[message] = nil }
        }
        unsynced.removeFirst(count)
    }
}
