import BalloonPOSIX
import BusinessMessages

/// The messages with unfinished work, the assignments and the ledger of segments, computed from the records of the
/// journal in order.
///
/// Recovery, snapshots and the running store apply each record with the same function, so a start comes to the state that the
/// last process had. A value without side effects.
struct JournalState: Sendable {
    /// A message, with its conversation and its state.
    struct Message: Sendable {
        let conversation: ConversationKey
        /// The time of arrival, or of the reply's failure that the event reports.
        let at: Timestamp
        var state: MessageState
        /// The identity of a proactive message; nil for other messages.
        var key: MessageKey?
        /// The places of the message's journal lines, in order.
        var places: [JournalSnapshot.Line] = []

        /// Creates the event that begins with this record; nil when no event begins with it.
        init?(begunBy record: LocatedRecord) {
            let (number, location) = (record.number, record.location)
            switch record.record {
            case .message(let message):
                conversation = message.conversation
                at = message.at ?? Timestamp(milliseconds: 0)
                state = MessageState(message, record: number, at: location)
                if message.outboundKind != nil { key = message.key }
            case .change(_, .reply(let reply)):
                guard let conversation = reply.reportedIn else { return nil }
                self.conversation = conversation
                at = reply.at ?? Timestamp(milliseconds: 0)
                state = MessageState(failureIn: number, at: location)
            case .change, .assignment, .checkpoint, .unsynced, .segment, .erased, .other: return nil
            }
        }

        /// Creates the dead letter whose copy this record is; nil for any other record.
        init?(copiedBy record: LocatedRecord) {
            guard case .change(let of, .carried(let reply, let conversation, let at)) = record.record else {
                return nil
            }
            self.conversation = conversation
            self.at = at ?? Timestamp(milliseconds: 0)
            state = MessageState(carried: of, reply: reply, at: record.location)
        }
    }

    /// The number of the next record to be written.
    private(set) var nextRecord: UInt64 = 1
    /// Whether a sync of conversations failed after the last checkpoint.
    private(set) var isUnsynced = false
    /// The arrival time of the latest message; nil when there is none.
    private(set) var latestMessageAt: Timestamp?
    /// The ledger of segments: the reasons why each segment is still needed.
    var ledger = SegmentLedger()
    /// The assignments of conversations.
    var assignments = AssignmentTable()
    /// The messages with unfinished work: a delivery, a reply, or a conversation line that may not be on
    /// disk.
    private var open: [UInt64: Message] = [:]
    /// The records that ended a delivery or a reply, in order, each with its message.
    ///
    /// The conversation lines of these deliveries and replies may not be on disk.
    private var ended: [(end: UInt64, message: UInt64)] = []
    /// Whether the records of a snapshot's lines are being applied; they are known to be valid.
    private var isRestoring = false

    /// Creates the state of an empty journal.
    init() {}

    /// Restores the state from a snapshot, and from the records of the snapshot's open lines in order.
    ///
    /// `first` is the first segment that still exists: the messages of earlier segments are dropped.
    init(_ snapshot: JournalSnapshot, first: UInt64, lines: [LocatedRecord]) {
        isRestoring = true
        var last: UInt64 = 0
        // A line that concerns two messages is listed twice, but must be applied once.
        for line in lines where line.number > last {
            apply(line)
            last = line.number
        }
        isRestoring = false
        let messages = Set(snapshot.openLines.map(\.message))
        open = open.filter { messages.contains($0.key) }
        nextRecord = snapshot.nextRecord
        isUnsynced = snapshot.isUnsynced
        latestMessageAt = snapshot.latestMessageAt
        ledger = snapshot.ledger
        ledger.remove(before: first)
        assignments = snapshot.assignments
        removeEnded(through: ledger.checkpoint)
    }

    /// How many deliveries and replies have ended, and whose messages may still be kept.
    var endedCount: Int { ended.count }

    /// The places of the journal lines of unfinished messages, in no order.
    var openLines: [JournalSnapshot.Line] { open.values.flatMap(\.places) }

    /// The messages with an unfinished delivery or reply.
    var unended: [Message] { open.values.filter(\.state.isUnended) }

    /// Returns the messages that satisfy `isWanted`, in the order of their records.
    ///
    /// Sorts record numbers instead of messages, because a message takes hundreds of bytes.
    func messages(_ isWanted: (MessageState) -> Bool) -> [Message] {
        open.filter { isWanted($0.value.state) }.keys.sorted().compactMap { open[$0] }
    }

    /// The message with this record if it has unfinished work; otherwise nil.
    subscript(record: UInt64) -> Message? { open[record] }

    /// The conversation that a record names, or that of the unfinished message which it changes.
    func conversation(of record: JournalRecord) -> ConversationKey? {
        record.conversation ?? record.subject.flatMap { open[$0]?.conversation }
    }

    /// Ensures that the next records get this number or a higher one.
    mutating func skip(to record: UInt64) { nextRecord = max(nextRecord, record) }

    /// Applies a record; a record of an unknown type has no effect.
    ///
    /// `now` is the time of arrival in a running store; nil means the time in the record. With `isRepeated`, the record is a
    /// message that repeats an unfinished one; it begins no event.
    mutating func apply(_ record: LocatedRecord, now: Timestamp? = nil, isRepeated: Bool = false) {
        let (number, segment) = (record.number, record.location.segment)
        skip(to: number + 1)
        if now != nil { ledger.begin(segment, at: nil) }
        switch record.record {
        case .message(let message):
            recordArrival(at: message.at ?? .now(), in: segment, now: now)
            assignments.apply(message, by: number, in: segment)
            if let replayed = message.replayOf {
                ledger.recordDecision(about: DeadLetter(replayed, reply: message.retriedReply))
            }
            if !isRepeated { begin(record) }
        case .checkpoint(let through):
            recordCheckpoint(through: through)
        case .unsynced: isUnsynced = true
        case .segment(let at): ledger.begin(segment, at: at)
        case .change(let of, .dropped(let reply)): ledger.recordDecision(about: DeadLetter(of, reply: reply))
        case .change(let of, .carried(let reply, let conversation, _)):
            let letter = DeadLetter(of, reply: reply)
            // In a running store, an operator may have decided before the copy was written.
            if now == nil || ledger.deadLetters[letter] != nil {
                ledger.recordDeadLetter(letter, of: conversation.business, in: segment)
            }
        case .change(let of, .resolved):
            guard let message = open[of], message.state.awaitsReference else { break }
            change(of, record)
            assignments.apply(resolved: open[of] ?? message, by: number)
        case .change(let of, .outcome(let outcome)):
            decide(of, outcome, record)
            if let handOff = outcome.handOff {
                assignments.apply(handOff: handOff, by: number, in: segment)
            }
        case .change(let of, .reply(let reply)): end(of, reply, record)
        case .change(let of, .finished(let finished)): end(of, finished, record)
        case .change(let of, .files), .change(let of, .began), .change(let of, .attempt),
            .change(let of, .replyAttempt):
            change(of, record)
        case .erased(let erased):
            if erased.key != nil { recordArrival(at: erased.at ?? .now(), in: segment, now: now) }
        case .assignment(let record): assignments.apply(record, by: number, in: segment)
        case .other: break
        }
        assignments.dropOldest(except: open)
    }

    /// Records that the lines of all records up to this one are on disk.
    mutating func recordCheckpoint(through record: UInt64) {
        isUnsynced = false
        ledger.recordCheckpoint(through: record)
        removeEnded(through: record)
    }

    /// Removes the messages that have ended with records up to this one: their conversation lines are in the files.
    mutating func removeEnded(through: UInt64) {
        let count = ended.prefix { $0.end <= through }.count
        if count == 0 { return }
        for (_, message) in ended[..<count] {
            guard let index = open.index(forKey: message) else { continue }
            let state = open.values[index].state
            if !state.isUnended, state.lastEnd <= through { open.remove(at: index) }
        }
        ended.removeFirst(count)
        open.shrink()
    }

    /// Returns the records that count a crash for each of these deliveries that is undecided, with the places of the
    /// deliveries' messages.
    func crashes(of deliveries: Set<UInt64>) -> [(record: AppendedRecord, message: RecordLocation)] {
        deliveries.sorted().compactMap { record in
            guard let found = open[record]?.state, !found.isDecided, !found.isDelivered else { return nil }
            return (
                JournalBody.attempt(of: record, Int(found.attempts) + 1, at: .now(), next: nil),
                found.location
            )
        }
    }

    private mutating func recordArrival(at: Timestamp, in segment: UInt64, now: Timestamp?) {
        latestMessageAt = max(latestMessageAt ?? at, at)
        ledger.begin(segment, at: now ?? at)
    }

    private mutating func begin(_ record: LocatedRecord) {
        guard var message = Message(begunBy: record) else { return }
        ledger.recordOpen(1, in: record.location.segment)
        message.places = [
            JournalSnapshot.Line(message: record.number, record: record.number, location: record.location)
        ]
        open[record.number] = message
    }

    /// Applies a record to its message in place, because a copy would cost more than the change.
    ///
    /// Returns nil, and does nothing, when the message is unknown or `isApplied` returns false.
    @discardableResult
    private mutating func change(
        _ message: UInt64, _ record: LocatedRecord, if isApplied: (MessageState) -> Bool = { _ in true }
    ) -> (segment: UInt64, conversation: ConversationKey, hasDelivery: Bool)? {
        guard let index = open.index(forKey: message) else { return nil }
        open.values[index].places.append(
            JournalSnapshot.Line(message: message, record: record.number, location: record.location))
        guard isApplied(open.values[index].state) else { return nil }
        open.values[index].state.apply(record)
        return (
            open.values[index].state.location.segment, open.values[index].conversation,
            open.values[index].state.outboundKind == nil
        )
    }

    private mutating func decide(
        _ message: UInt64, _ outcome: JournalRecord.Outcome, _ record: LocatedRecord
    ) {
        let decided = change(message, record) { !$0.isDecided }
        // Replies are counted in the segment of their message, because an outcome cannot be used without the
        // message.
        if let decided { ledger.recordOpen(outcome.replies, in: decided.segment) }
    }

    /// Ends a reply of a message, and adds the event that reports its failure, if the record says that it is
    /// reported.
    private mutating func end(_ message: UInt64, _ reply: JournalRecord.Reply, _ record: LocatedRecord) {
        let number = record.number
        // The answered message may be unknown, because its segment was deleted, while the failure is not
        // reported to the handler yet.
        let isKnown = open[message] != nil
        let done = change(message, record) { $0.isQueued(reply.index) }
        if let done {
            ended.append((number, message))
            let letter = reply.result.isDeadLetter ? DeadLetter(message, reply: reply.index) : nil
            ledger.recordEnd(in: done.segment, deadLetter: letter, of: done.conversation.business, by: number)
        }
        if done != nil || isRestoring || !isKnown { begin(record) }
    }

    private mutating func end(
        _ message: UInt64, _ finished: JournalRecord.Finished, _ record: LocatedRecord
    ) {
        let number = record.number
        let queued = open[message]?.state.queuedReplies ?? []
        let done = change(message, record) { $0.end == nil }
        guard let done else { return }
        ended.append((number, message))
        if finished.result.reachedHandler { assignments.finish(message, of: done.conversation) }
        assignments.removeQuiet(done.conversation, except: open)
        // A proactive message has no delivery to count; its reply is counted instead.
        if done.hasDelivery {
            let letter = finished.result.isDeadLetter ? DeadLetter(message, reply: nil) : nil
            ledger.recordEnd(
                in: done.segment, deadLetter: letter, of: done.conversation.business, by: number)
        }
        // Earlier versions ended a delivery together with its replies.
        for index in queued where open[message]?.state.isQueued(index) == false {
            ledger.recordEnd(
                in: done.segment, deadLetter: DeadLetter(message, reply: index),
                of: done.conversation.business, by: number)
        }
    }
}

extension MessageState {
    /// Whether the delivery or a reply has not ended.
    var isUnended: Bool { !isDelivered || hasQueuedReply }
    /// The indices of the replies that have not ended.
    fileprivate var queuedReplies: [Int] { replies.isEmpty ? [] : replies.indices.filter { isQueued($0) } }
}
