import BalloonPOSIX
import BusinessMessages

/// The data kept in memory for a message whose delivery has not ended.
struct PendingDelivery: Sendable {
    /// The state of the message's line in the conversation's file.
    enum Recording: Sendable {
        /// The message's line is not in its conversation yet.
        case open
        /// The line is written, or the file refused it and the journal contains it.
        case written(Kind, repeats: MessageID?)
        /// No line is needed, because the message has one already.
        case notNeeded

        var isDone: Bool { if case .open = self { false } else { true } }

        var kind: Kind? { if case .written(let kind, _) = self { kind } else { nil } }

        var original: MessageID? { if case .written(_, let original) = self { original } else { nil } }
    }

    let record: UInt64
    let location: RecordLocation
    /// Its further records (resolved, files, outcome), in order.
    var related: [RecordLocation] = []
    /// The message, if it is cached.
    var text: CachedMessage?
    /// The event decoded for recording, as long as the text is in memory.
    var event: DecodedEvent?
    /// The number of started attempts.
    var attempt: Int32 = 0
    /// Whether its payload reference is unresolved.
    var awaitsReference: Bool
    /// Whether the delivery replays a finished message.
    var isReplay = false
    /// Whether the delivery reports a failed reply to the handler.
    var isReplyFailure = false
    /// The message's effect on the conversation.
    var act = ReceivedMessage.Act.writes
    var isDecided = false
    /// The time of the decision, until its replies are queued.
    var decidedAt: Timestamp?
    /// How often the process crashed while it was delivered or recorded alone.
    var crashes: UInt8 = 0
    /// Whether the delivery was leased when the last process crashed, so that it runs alone until it proves harmless.
    var isSuspect = false
    /// Whether the message was resolved or recorded when the last process crashed, so that it is recorded alone.
    var isRecordingSuspect = false
    /// How often its lease was released without an attempt.
    var releases: UInt8 = 0
    /// How often it was released for a transient error.
    var transientReleases: UInt8 = 0
    /// Whether the delivery was moved out of its conversation's order.
    var isParked = false
    /// Whether an earlier message was parked.
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

/// A decoded message on the heap.
final class DecodedEvent: Sendable {
    let event: InboundEvent

    init(_ event: InboundEvent) { self.event = event }
}

/// A delivery leased for an attempt.
struct Lease: Sendable {
    let conversation: ConversationKey
    let pending: PendingDelivery
}
