import BalloonPOSIX
import BusinessMessages

/// The data kept in memory for a message whose delivery has not ended.
struct PendingDelivery: Sendable {
    /// The state of the message's line in the conversation's file.
    enum Recording: Sendable {
        /// The message's line is not in its conversation yet.
        case open
        /// The line is written; or the file refused the line, and only the journal contains it.
        case written(Kind, repeats: MessageID?)
        /// The delivery needs no line of its own: it replays a message, or reports a failed reply.
        case notNeeded

        var isDone: Bool { if case .open = self { false } else { true } }

        var kind: Kind? { if case .written(let kind, _) = self { kind } else { nil } }

        var original: MessageID? { if case .written(_, let original) = self { original } else { nil } }
    }

    let record: UInt64
    let location: RecordLocation
    /// The places of the message's further records (resolved, files, outcome), in order.
    var related: [RecordLocation] = []
    /// The message, if it is cached.
    var text: CachedMessage?
    /// The event that was decoded to record the message, as long as the text is in memory.
    var event: DecodedEvent?
    /// The number of started attempts.
    var attempt: Int32 = 0
    /// Whether the message's payload reference is unresolved.
    var awaitsReference: Bool
    /// Whether the delivery replays a finished message.
    var isReplay = false
    /// Whether the delivery reports a failed reply to the handler.
    var isReplyFailure = false
    /// The message's effect on the conversation.
    var act = ReceivedMessage.Act.writes
    var isDecided = false
    /// The time of the handler's decision; nil before it, and after its replies are queued.
    var decidedAt: Timestamp?
    /// How often the process crashed while it delivered or recorded this message alone.
    var crashes: UInt8 = 0
    /// Whether the delivery was leased when the last process crashed, so that it runs alone until it proves harmless.
    var isSuspect = false
    /// Whether the message was resolved or recorded when the last process crashed, so that it is recorded alone.
    var isRecordingSuspect = false
    /// How often the lease was released without an attempt.
    var releases: UInt8 = 0
    /// How often the lease was released because of a transient error.
    var transientReleases: UInt8 = 0
    /// Whether the delivery was moved out of its conversation's order.
    var isParked = false
    /// Whether an earlier message of the conversation was parked.
    var isAfterGap = false
    /// The due time of a recovered parked delivery.
    var due: Timestamp?
    let isRecovered: Bool
    var recording = Recording.open

    /// Creates the data of a message that has just become durable.
    init(_ record: JournalledRecord, awaitsReference: Bool, act: ReceivedMessage.Act) {
        self.record = record.number
        location = record.location
        self.awaitsReference = awaitsReference
        self.act = act
        isRecovered = false
    }

    /// Creates the delivery that reports a failed reply, whose end has just become durable, to its handler.
    init(failureIn record: JournalledRecord) {
        self.init(record, awaitsReference: false, act: .neither)
        isReplyFailure = true
        recording = .notNeeded
    }

    /// Creates the data of a message from an earlier process.
    init(_ state: MessageState) {
        record = state.record
        location = state.location
        related = state.related
        attempt = state.attempts
        awaitsReference = state.awaitsReference
        isReplay = state.replayOf != nil
        isReplyFailure = state.isReplyFailure
        act = state.act
        isDecided = state.isDecided
        crashes = state.crashes
        isParked = state.status == .parked
        due = state.next
        isRecovered = true
        if isReplay || isReplyFailure { recording = .notNeeded }
    }
}

/// A decoded event on the heap, which copies of its delivery share.
final class DecodedEvent: Sendable {
    let event: InboundEvent

    init(_ event: InboundEvent) { self.event = event }
}

/// A delivery leased for an attempt.
struct Lease: Sendable {
    let conversation: ConversationKey
    let pending: PendingDelivery

    /// The same delivery, due without a pause.
    var dueNow: Lease {
        var pending = pending
        pending.due = nil
        return Lease(conversation: conversation, pending: pending)
    }
}
