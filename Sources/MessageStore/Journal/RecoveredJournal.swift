import BalloonPOSIX
import BusinessMessages

/// The state of a journal, computed from its records in order.
struct RecoveredJournal: Sendable {
    /// A message with its conversation and state.
    struct Recovered: Sendable {
        let conversation: ConversationKey
        var state: MessageState
        /// The identity of a message of the business's own accord; nil for others.
        var key: MessageKey?
    }

    /// The number of the next record.
    private(set) var nextRecord: UInt64 = 1
    private(set) var index: MessageIndex
    /// Whether a sync of conversations failed after the last checkpoint.
    private(set) var isUnsynced = false
    /// The arrival time of the latest message; nil when there is none.
    private(set) var latestMessageAt: Timestamp?
    /// The reasons to keep each segment.
    private(set) var ledger = SegmentLedger()
    /// The assignments of conversations.
    private(set) var assignments = AssignmentTable()
    /// The messages with open work: a delivery, a reply, or a line that may not be on disk.
    private var open: [UInt64: Recovered] = [:]
    /// The records that ended deliveries and replies whose lines may not be on disk, in order, with their messages.
    private var unsynced: [(end: UInt64, message: UInt64)] = []
    /// The places of the lines of unfinished messages, in the order of their records; may contain lines of finished
    /// messages.
    private var lines: [JournalSnapshot.Line] = []
    /// The number of `lines` at which those of finished messages are removed.
    private var maximumLines = 4096
    /// Whether lines of a snapshot are being read, all of which are valid.
    private var isRestoring = false

    /// The places of the lines of unfinished messages, in the order of their records.
    var openLines: [JournalSnapshot.Line] { lines.filter { open[$0.message] != nil } }

    /// Restores the state of a snapshot, with the records of its open lines in order.
    ///
    /// `first` is the first existing segment: messages of earlier ones are dropped.
    init(
        _ configuration: StoreConfiguration, _ snapshot: JournalSnapshot, first: UInt64,
        records: [(JournalRecord, JournalSnapshot.Line)]
    ) {
        self.init(configuration)
        isRestoring = true
        var last: UInt64 = 0
        // A line that concerns two messages is listed twice.
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

    /// Creates the state of an empty journal, for a store with this configuration.
    init(_ configuration: StoreConfiguration) {
        index = MessageIndex(
            window: configuration.deduplicationWindow,
            maximumCount: configuration.maximumRememberedMessages)
    }

    /// The messages whose delivery has not ended, in the order of their records.
    var undelivered: [Recovered] { messages { !$0.isDelivered } }

    /// The messages with an unfinished delivery or reply.
    var unended: [Recovered] { open.values.filter { !$0.state.isDelivered || $0.state.hasQueuedReply } }

    /// The messages with unfinished replies, in the order of the decisions.
    var withQueuedReplies: [Recovered] {
        open.values.filter { $0.state.hasQueuedReply }
            .sorted { ($0.state.decision?.record ?? 0) < ($1.state.decision?.record ?? 0) }
    }

    /// The messages whose conversation lines may be missing, in the order of their records.
    var unwritten: [Recovered] { messages { $0.kind != nil || $0.isReplyFailure } }

    /// The messages that satisfy `isWanted`, in the order of their records; sorts numbers instead of messages,
    /// because a message takes hundreds of bytes.
    private func messages(_ isWanted: (MessageState) -> Bool) -> [Recovered] {
        open.filter { isWanted($0.value.state) }.keys.sorted().compactMap { open[$0] }
    }

    /// Ensures that no record gets a number below this one.
    mutating func skip(to record: UInt64) { nextRecord = max(nextRecord, record) }

    /// Applies a record; unknown types stay in the file and have no effect.
    mutating func apply(_ record: JournalRecord, number: UInt64, at location: RecordLocation) {
        skip(to: number + 1)
        keepLine(of: record, number: number, at: location)
        // The snapshot contains the assignments, so the restored lines must not change them.
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
            // The segment of the answered message may be deleted although the handler was not told of the failure
            // yet.
            let isKnown = open[reply.of] != nil
            let isFirst = end(reply, record, number: number, at: location)
            if isFirst || isRestoring || !isKnown { report(reply, record, number: number, at: location) }
        case .finished(let finished): end(finished, record, number: number, at: location)
        case .erased(let erased): add(erased, record: number, at: location)
        case .assignment, .other: break
        }
    }

    /// Keeps the identity of an erased message, so that its repetition is still detected; nothing of it is open.
    private mutating func add(_ erased: JournalRecord.Erased, record: UInt64, at location: RecordLocation) {
        guard let key = erased.key else { return }
        let at = erased.at ?? .now()
        latestMessageAt = max(latestMessageAt ?? at, at)
        ledger.begin(location.segment, at: at)
        _ = index.recover(key, record: record, at: at)
    }

    /// Counts a crash for each undecided delivery; returns the journal entries that record these crashes.
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

    /// Returns those of the conversations that have an unfinished delivery up to the record that is given for each of
    /// them.
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
        // Of two messages with one identity the first is valid. A copy that arrived after the first was
        // dropped from the index was accepted as a new message.
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
        // The replies count in the message's own segment, because an outcome is useless without its message.
        if let segment { ledger.recordOpen(outcome.replies, in: segment) }
    }

    /// Ends a reply; returns whether it had no end before.
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

    /// Adds the event of a failed reply.
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
            // Earlier versions ended replies together with their delivery.
            return (
                state.location.segment, state.outboundKind == nil, queued.filter { !state.isQueued($0) }
            )
        }
        guard let ended, let key = open[finished.of]?.conversation else { return }
        if !isRestoring, finished.result.reachedHandler { assignments.finish(finished.of, of: key) }
        unsynced.append((number, finished.of))
        // A proactive message has no delivery: its reply is counted.
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
