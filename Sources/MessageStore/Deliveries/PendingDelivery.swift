import BalloonPOSIX
import BusinessMessages

/// What the store keeps in memory of a message whose delivery has not ended.
struct PendingDelivery: Sendable {
    /// What the conversation's file says of the message.
    enum Recording: Sendable {
        /// The line is not written yet.
        case open
        /// The line is written, or the file refused it and the journal vouches for it.
        case written(Kind, repeats: MessageID?)
        /// No line is needed: the message has one from before.
        case notNeeded

        var isDone: Bool { if case .open = self { false } else { true } }

        var kind: Kind? { if case .written(let kind, _) = self { kind } else { nil } }

        var original: MessageID? { if case .written(_, let original) = self { original } else { nil } }
    }

    let record: UInt64
    let location: RecordLocation
    /// The records that say more about it (resolved, files, outcome), in their order.
    var related: [RecordLocation] = []
    /// The message, while there is room for it in memory.
    var text: CachedMessage?
    /// What the message was decoded to when it was recorded, as long as its text is in memory.
    var event: DecodedEvent?
    /// How many attempts were begun.
    var attempt: Int32 = 0
    /// Whether its payload reference has no end yet.
    var awaitsReference: Bool
    /// Whether it hands over what was finished before.
    var isReplay = false
    /// Whether it tells the handler that a reply failed.
    var isReplyFailure = false
    /// What the customer does with it.
    var act = ReceivedMessage.Act.writes
    var isDecided = false
    /// When that was, until its replies are queued.
    var decidedAt: Timestamp?
    /// How often the process ended while its handler had it.
    var crashes: UInt8 = 0
    /// Whether it was leased when the last process crashed, so that it runs alone until it is known to be harmless.
    var isSuspect = false
    /// How often its lease was released without an attempt.
    var releases: UInt8 = 0
    /// How often that was for an error that may pass.
    var transientReleases: UInt8 = 0
    /// Whether it was taken out of its conversation's order.
    var isParked = false
    /// Whether one that came before it was parked.
    var isAfterGap = false
    /// When a parked one that was recovered is due.
    var due: Timestamp?
    let isRecovered: Bool
    var recording = Recording.open

    /// A message that has just become durable.
    init(_ record: JournalledRecord, awaitsReference: Bool, act: ReceivedMessage.Act) {
        self.record = record.number
        location = record.location
        self.awaitsReference = awaitsReference
        self.act = act
        isRecovered = false
    }

    /// The end of a reply that has just become durable, of which its handler is told.
    init(failureIn record: JournalledRecord) {
        self.init(record, awaitsReference: false, act: .neither)
        isReplyFailure = true
        recording = .notNeeded
    }

    /// A message that an earlier life left.
    init(_ state: MessageState) {
        record = state.record
        location = state.location
        related = state.related
        attempt = state.attempt
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

/// A decoded message, in one piece of memory.
final class DecodedEvent: Sendable {
    let event: InboundEvent

    init(_ event: InboundEvent) { self.event = event }
}

/// A delivery that was taken out of its queue for an attempt.
struct Lease: Sendable {
    let conversation: ConversationKey
    let pending: PendingDelivery
}
