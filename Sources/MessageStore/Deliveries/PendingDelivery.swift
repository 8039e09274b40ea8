import BalloonPOSIX
import BusinessMessages

/// The data kept in memory for a message whose delivery has not ended.
struct PendingDelivery: Sendable {
    /// The state of the message's line in the conversation's file.
    enum Recording: Sendable {
        /// The line is not in the conversation's file yet.
        case open
        /// The line is in the file; or the file refused the line repeatedly, and only the journal contains
        /// it.
        case written(Kind, repeats: MessageID?)
        /// The delivery needs no line, because it replays a message or reports a failed reply.
        case notNeeded

        var isDone: Bool { if case .open = self { false } else { true } }

        var kind: Kind? { if case .written(let kind, _) = self { kind } else { nil } }

        var original: MessageID? { if case .written(_, let original) = self { original } else { nil } }
    }

    let record: UInt64
    let location: RecordLocation
    /// The message, if it is cached and no other record has a part of it.
    var text: CachedMessage?
    /// The event that was decoded when the message was recorded; kept only if the message is cached.
    var event: DecodedEvent?
    /// The conversation that the message begins; nil when it continues one, or is not recorded yet.
    var begins: NewConversation?
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
    /// The place and the time of the handler's decision, from the decision until its replies are queued; otherwise nil.
    var unqueued: (decision: RecordLocation, at: Timestamp)?
    /// How often the process crashed while it recorded or delivered this message and no other.
    var crashes: UInt8 = 0
    /// Whether the delivery may have crashed the last process: it then runs alone until an attempt ends
    /// without a crash.
    var isSuspect = false
    /// Whether the delivery is leased, and only waits for its handler.
    var waitsForHandler = false
    /// Whether the handler was called since the delivery was leased.
    private(set) var isCalled = false
    /// The number of attempts in which the handler was called, with those of earlier processes that were counted.
    ///
    /// Unlike `attempt`, it includes attempts that cost nothing, such as the probes of a service that refuses every event.
    private(set) var tries: Int32 = 0
    /// Whether the message was resolved or recorded when the last process crashed: it is then recorded alone.
    var isRecordingSuspect = false
    /// How often the lease was released without an attempt, or recording the message failed.
    var releases: UInt8 = 0
    /// How often the lease was released because of a transient error.
    var transientReleases: UInt8 = 0
    /// Whether the delivery was moved out of its conversation's order.
    var isParked = false
    /// Whether an earlier message of the conversation was parked or removed.
    var isAfterGap = false
    /// The due time of a delivery that an earlier process parked; nil when it is due.
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

    /// Creates the delivery that reports a failed reply to its handler; `record` is the record that ended the
    /// reply.
    init(failureIn record: JournalledRecord) {
        self.init(record, awaitsReference: false, act: .neither)
        isReplyFailure = true
        recording = .notNeeded
    }

    /// Creates the data of a message from an earlier process.
    init(_ state: MessageState) {
        record = state.record
        location = state.location
        begins = state.begins
        attempt = state.attempts
        tries = state.attempts
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

    /// Begins an attempt.
    mutating func lease() {
        attempt += 1
        waitsForHandler = false
        isCalled = false
    }

    /// Records a call of the handler; a fallback that is called after it belongs to the same attempt.
    mutating func beginCall() {
        waitsForHandler = false
        guard !isCalled else { return }
        isCalled = true
        tries += 1
    }
}

/// A decoded event on the heap, so that copies of a delivery share one event.
final class DecodedEvent: Sendable {
    let event: InboundEvent

    init(_ event: InboundEvent) { self.event = event }
}

/// A delivery leased for an attempt; an object, because the stages of the delivery pass it on.
final class Lease: Sendable {
    let conversation: ConversationKey
    let pending: PendingDelivery

    init(conversation: ConversationKey, pending: PendingDelivery) {
        self.conversation = conversation
        self.pending = pending
    }
}
