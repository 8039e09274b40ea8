import BalloonPOSIX
import BusinessMessages

/// The state of one message according to the journal's records so far, without its text.
///
/// All code computes message states with this type: recovery, lists, verification and the repair of conversations.
struct MessageState: Sendable {
    /// The number of the message's record.
    let record: UInt64
    /// The place of the message's line, or of its copy in a later segment.
    let location: RecordLocation
    /// Whether the message's segment was deleted, and `location` is the place of the dead letter's copy.
    let isCarried: Bool
    /// The record of the replayed message; nil when this is no replay.
    let replayOf: UInt64?
    /// The kind of a proactive message; nil for a customer's message.
    let outboundKind: Kind?
    /// Whether this is the event that reports a failed reply; the record that ended the reply is also the
    /// event's record.
    let isReplyFailure: Bool
    /// The message's effect on the conversation.
    private(set) var act: ReceivedMessage.Act
    /// Whether the message's payload reference is unresolved.
    private(set) var awaitsReference: Bool
    /// The conversation that the message begins; nil when it continues one.
    private(set) var begins: NewConversation?
    /// The place of the record with the results of the message's attachments; nil until then.
    private(set) var files: RecordLocation?
    /// The place of the record with the resolved payload, or with the failure; nil until then.
    private(set) var resolved: RecordLocation?
    /// The record of the decided outcome; for a proactive message, its own record.
    private(set) var decision: (record: UInt64, location: RecordLocation)?
    /// The decided replies, by index.
    private(set) var replies: [ReplyState] = []
    private(set) var kind: Kind?
    /// The id of the recent message whose choice this message repeated.
    private(set) var original: MessageID?
    private(set) var status = JournalEvent.Status.pending
    private(set) var reason: String?
    /// The number of the last attempt that ended without an outcome, or that decided; attempts count from 1.
    private(set) var attempts: Int32 = 0
    /// How often the process crashed while it recorded or delivered this message and no other.
    private(set) var crashes: UInt8 = 0
    /// The time of the next attempt.
    private(set) var next: Timestamp?
    /// The record of the message's latest replay; nil when there is none.
    private(set) var replayedAs: UInt64?
    /// The record that ended the delivery; nil while the delivery is unfinished.
    private(set) var end: UInt64?
    /// The place of that record if it has the broken rules of a refused answer.
    private var refusedEnd: RecordLocation?

    /// Creates the state from the message's own record.
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
        // The reply of a proactive message is the message itself, and is decided when the message is stored.
        decision = (record, location)
        replies = [ReplyState(decidedAt: message.at ?? Timestamp(milliseconds: 0))]
    }

    private init(_ record: UInt64, at location: RecordLocation, isCarried: Bool, act: ReceivedMessage.Act) {
        self.record = record
        self.location = location
        self.isCarried = isCarried
        replayOf = nil
        outboundKind = nil
        isReplyFailure = !isCarried
        self.act = act
        awaitsReference = false
    }

    /// Creates the event of a failed reply from the record that ended the reply.
    init(failureIn record: UInt64, at location: RecordLocation) {
        self.init(record, at: location, isCarried: false, act: .neither)
    }

    /// Creates the state from the copy of a dead letter, which is an event or one of its replies.
    init(carried record: UInt64, reply index: Int?, at location: RecordLocation) {
        self.init(record, at: location, isCarried: true, act: .writes)
        guard let index else { return }
        status = .handled
        addCarried(index, at: location)
    }

    /// Whether the delivery has ended, or there is none because the message is proactive.
    var isDelivered: Bool { end != nil || outboundKind != nil }

    /// Whether the replies are decided, by a handler or by the creator of a proactive message.
    var isDecided: Bool { decision != nil }

    /// Whether a decided reply has not ended.
    var hasQueuedReply: Bool { replies.contains { $0.status == .queued } }

    /// Whether the reply with this index is decided and has not ended.
    func isQueued(_ index: Int) -> Bool {
        replies.indices.contains(index) && replies[index].status == .queued
    }

    /// Whether nothing is known about the reply with this index, because only copies of other replies are
    /// left.
    func isPlaceholder(_ index: Int) -> Bool { decision == nil && replies[index].carried == nil }

    /// The place of the record that has the broken rules, if the handler's answer was refused.
    ///
    /// After another failure, the record at this place has no broken rules.
    var refusal: RecordLocation? {
        switch status {
        case .failed, .dropped, .retried: refusedEnd ?? decision?.location
        case .pending, .parked, .handled, .unhandled, .rejected, .handedOff, .repeated, .withPerson, .erased:
            nil
        }
    }

    /// The last record that ended the delivery or a reply; 0 when nothing ended.
    var lastEnd: UInt64 { replies.reduce(end ?? 0) { max($0, $1.end?.record ?? 0) } }

    /// Applies a later record; a second record of the same change has no effect.
    mutating func apply(_ record: LocatedRecord) {
        let (number, location) = (record.number, record.location)
        if let replay = record.record.message, replay.replayOf == self.record {
            return applyRetry(of: replay.retriedReply, as: number)
        }
        guard case .change(_, let change) = record.record else { return }
        switch change {
        case .resolved(let act) where resolved == nil:
            awaitsReference = false
            self.act = act
            resolved = location
        case .files: files = files ?? location
        case .began(let conversation): begins = begins ?? conversation
        case .outcome(let outcome): decide(outcome, number: number, at: location)
        case .replyAttempt(let attempt): self.change(attempt.index) { $0.apply(attempt) }
        case .reply(let reply): self.change(reply.index) { $0.end(reply, by: number) }
        case .attempt(let attempt): apply(attempt)
        case .finished(let finished): finish(finished, by: number, at: location)
        case .dropped(let index?): self.change(index) { $0.drop() }
        // A copied event is a dead letter unless a later record says otherwise.
        case .dropped(nil) where status.isDeadLetter || isCarried: status = .dropped
        case .carried(let index?, _, _): addCarried(index, at: location)
        case .resolved, .dropped, .carried: break
        }
    }

    /// Records that the message, or one of its replies, was replayed as another record.
    private mutating func applyRetry(of reply: Int?, as record: UInt64) {
        if reply == nil { replayedAs = record }
        if let reply { return change(reply) { $0.retry(as: record) } }
        // A proactive message has one reply: the replay of the message sends this reply again.
        if outboundKind != nil { change(0) { $0.retry(as: record) } }
        if status.isDeadLetter || (isCarried && status == .pending) { status = .retried }
    }

    private mutating func decide(
        _ outcome: JournalRecord.Outcome, number: UInt64, at location: RecordLocation
    ) {
        guard decision == nil else { return }
        kind = outcome.kind ?? kind
        decision = (number, location)
        let reply = ReplyState(decidedAt: outcome.at ?? Timestamp(milliseconds: 0))
        replies = Array(repeating: reply, count: outcome.replies)
    }

    private mutating func apply(_ attempt: JournalRecord.Attempt) {
        // A delivery may end while its failed attempt is being recorded.
        guard end == nil, attempt.number > attempts else { return }
        attempts = Int32(clamping: attempt.number)
        if attempt.isCrash { crashes = UInt8(clamping: Int(crashes) + 1) }
        if !attempt.isCrash { status = attempt.isParked ? .parked : .pending }
        next = attempt.next
    }

    private mutating func finish(
        _ finished: JournalRecord.Finished, by number: UInt64, at location: RecordLocation
    ) {
        guard end == nil else { return }
        status = finished.result
        reason = finished.reason
        kind = finished.kind ?? kind
        original = finished.original
        next = nil
        end = number
        if finished.isRefusal { refusedEnd = location }
        attempts = max(attempts, Int32(clamping: finished.attempts))
        guard finished.result == .failed, isDecided, !finished.isRefusal else { return }
        // Earlier versions ended a delivery together with its replies, so its unsent replies become dead
        // letters.
        for index in replies.indices { replies[index].fail(finished.reason) }
        // The dead letter of a proactive message is its reply, not the message.
        if outboundKind != nil { status = .handled }
    }

    private mutating func addCarried(_ index: Int, at location: RecordLocation) {
        while replies.count <= index, replies.count < Self.maximumReplies {
            replies.append(ReplyState(decidedAt: Timestamp(milliseconds: 0)))
        }
        change(index) { $0.carry(to: location) }
    }

    /// Changes the state of one reply; ignores an index without a reply.
    ///
    /// Such an index comes from damage or from a newer version.
    private mutating func change(_ index: Int, _ change: (inout ReplyState) -> Void) {
        guard replies.indices.contains(index) else { return }
        change(&replies[index])
    }

    /// The maximum number of replies; an index in a file may be any number, and must not take unlimited
    /// memory.
    private static let maximumReplies = 10_000
}
