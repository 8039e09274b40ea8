import BalloonPOSIX
import BusinessMessages

/// What the journal's records say of one message so far, without its text.
///
/// The one fold of records: recovery, lists, verification and the reconciler all read the journal into these.
struct MessageState: Sendable {
    /// The number of the message's record.
    let record: UInt64
    /// Where the message stands, or the copy that was carried to a later segment.
    let location: RecordLocation
    /// Whether the message's own segment is gone and `location` is that of a carried dead letter.
    let isCarried: Bool
    /// The record whose message this hands over again.
    let replayOf: UInt64?
    /// The kind of a message that the business sends of its own accord; nil for what a customer sent.
    let outboundKind: Kind?
    /// Whether it tells a handler that a reply failed; its record is the one that ended the reply.
    let isReplyFailure: Bool
    /// What the customer does with it.
    let act: ReceivedMessage.Act
    /// Whether its payload reference has no end yet.
    private(set) var awaitsReference: Bool
    /// The records that say more about it (resolved, files, outcome), in their order.
    private(set) var related: [RecordLocation] = []
    /// Where it stands with its payload.
    private(set) var resolved: RecordLocation?
    /// The record of the decided outcome; for a message that the business sends of its own accord, its own record.
    private(set) var decision: (record: UInt64, location: RecordLocation)?
    /// The replies that were decided, by their index.
    private(set) var replies: [ReplyState] = []
    private(set) var kind: Kind?
    /// The message that this one repeats.
    private(set) var original: MessageID?
    private(set) var status = JournalEvent.Status.pending
    private(set) var reason: String?
    /// How many attempts ended without an outcome.
    private(set) var attempts: Int32 = 0
    /// The number of the latest attempt.
    private(set) var attempt: Int32 = 0
    /// How often the process ended while its handler had it.
    private(set) var crashes: UInt8 = 0
    /// When the next attempt is due.
    private(set) var next: Timestamp?
    /// The record as which it was handed over again last.
    private(set) var replayedAs: UInt64?
    /// The record that ended its delivery; nil while it is pending.
    private(set) var end: UInt64?

    /// Begins with the message's own record.
    init(_ message: JournalRecord.Message, record: UInt64, at location: RecordLocation) {
        self.record = record
        self.location = location
        isCarried = false
        replayOf = message.replayOf
        outboundKind = message.outboundKind
        isReplyFailure = false
        act = message.act
        awaitsReference = message.hasReference
        kind = message.outboundKind
        guard message.outboundKind != nil else { return }
        // What the business sends of its own accord is decided when it is stored.
        decision = (record, location)
        replies = [ReplyState(decidedAt: message.at ?? Timestamp(milliseconds: 0))]
    }

    /// Begins with the record that ended a reply and tells its handler so.
    init(failureIn record: UInt64, at location: RecordLocation) {
        self.record = record
        self.location = location
        isCarried = false
        replayOf = nil
        outboundKind = nil
        isReplyFailure = true
        act = .neither
        awaitsReference = false
    }

    /// Begins with a dead letter that was carried: the event, or one of its replies.
    init(carried record: UInt64, reply index: Int?, at location: RecordLocation) {
        self.record = record
        self.location = location
        isCarried = true
        replayOf = nil
        outboundKind = nil
        isReplyFailure = false
        act = .writes
        awaitsReference = false
        guard let index else { return }
        status = .handled
        addCarried(index, at: location)
    }

    /// Whether the handler's part is over: the delivery ended, or there never was one.
    var isDelivered: Bool { end != nil || outboundKind != nil }

    /// Whether a handler, or whoever stored it, decided its replies.
    var isDecided: Bool { decision != nil }

    /// Whether a reply was decided and has no end yet.
    var hasQueuedReply: Bool { replies.contains { $0.status == .queued } }

    /// Whether the reply with this index was decided and has no end yet.
    func isQueued(_ index: Int) -> Bool {
        replies.indices.contains(index) && replies[index].status == .queued
    }

    /// Whether nothing is known of the reply with this index, since only others were carried.
    func isPlaceholder(_ index: Int) -> Bool { decision == nil && replies[index].carried == nil }

    /// The last of the records that ended its delivery or a reply; 0 when nothing ended.
    var lastEnd: UInt64 { replies.reduce(end ?? 0) { max($0, $1.end?.record ?? 0) } }

    /// Takes in a later record about it.
    mutating func apply(_ record: JournalRecord, number: UInt64, at location: RecordLocation) {
        switch record {
        case .resolved:
            awaitsReference = false
            resolved = location
            related.append(location)
        case .files: related.append(location)
        case .outcome(let outcome): decide(outcome, number: number, at: location)
        case .replyAttempt(let attempt): change(attempt.index) { $0.apply(attempt) }
        case .reply(let reply): change(reply.index) { $0.end(reply, by: number) }
        case .attempt(let attempt): apply(attempt)
        case .finished(let finished): finish(finished, by: number)
        case .dropped(_, let index?): change(index) { $0.drop() }
        // A carried one that has no other status is a dead letter.
        case .dropped(_, nil) where status.isDeadLetter || isCarried: status = .dropped
        case .carried(_, let index?): addCarried(index, at: location)
        case .message, .dropped, .carried, .checkpoint, .unsynced, .segment, .other: break
        }
    }

    /// Records that it, or one of its replies, is handed over again as another record.
    mutating func applyRetry(of reply: Int?, as record: UInt64) {
        if reply == nil { replayedAs = record }
        if let reply { return change(reply) { $0.retry(as: record) } }
        // A message of the business's own accord has one reply, whose dead letter is retried by its record as well.
        if outboundKind != nil { change(0) { $0.retry(as: record) } }
        if status.isDeadLetter || (isCarried && status == .pending) { status = .retried }
    }

    private mutating func decide(
        _ outcome: JournalRecord.Outcome, number: UInt64, at location: RecordLocation
    ) {
        related.append(location)
        kind = outcome.kind ?? kind
        guard decision == nil else { return }
        decision = (number, location)
        let reply = ReplyState(decidedAt: outcome.at ?? Timestamp(milliseconds: 0))
        replies = Array(repeating: reply, count: outcome.replies)
    }

    private mutating func apply(_ attempt: JournalRecord.Attempt) {
        attempts += 1
        self.attempt = Int32(clamping: attempt.number)
        if attempt.isCrash { crashes = UInt8(clamping: Int(crashes) + 1) }
        if !attempt.isCrash { status = attempt.isParked ? .parked : .pending }
        next = attempt.next
    }

    private mutating func finish(_ finished: JournalRecord.Finished, by number: UInt64) {
        status = finished.result
        reason = finished.reason
        kind = finished.kind ?? kind
        original = finished.original
        next = nil
        end = number
        guard finished.result == .failed, isDecided else { return }
        // Earlier versions ended a delivery together with its replies: what was not sent then is a dead letter now.
        for index in replies.indices { replies[index].fail(finished.reason) }
        // Of a message of the business's own accord the reply is the dead letter.
        if outboundKind != nil { status = .handled }
    }

    private mutating func addCarried(_ index: Int, at location: RecordLocation) {
        while replies.count <= index, replies.count < Self.maximumReplies {
            replies.append(ReplyState(decidedAt: Timestamp(milliseconds: 0)))
        }
        change(index) { $0.carry(to: location) }
    }

    /// A reply that the outcome does not have is damage that the checksum did not see, or a newer program's.
    private mutating func change(_ index: Int, _ change: (inout ReplyState) -> Void) {
        guard replies.indices.contains(index) else { return }
        change(&replies[index])
    }

    /// An index is a number from a file.
    private static let maximumReplies = 10_000
}
