import BalloonPOSIX
import BusinessMessages

/// What the store keeps in memory of a message that is not finished: where its records stand, never their
/// text.
struct PendingDelivery: Sendable {
    let record: UInt64
    let location: RecordLocation
    /// The records that say more about it (resolved, outcome, reply), in their order.
    var related: [RecordLocation] = []
    /// How many attempts were begun.
    var attempt: Int32 = 0
    /// Whether its payload reference has no end yet.
    var awaitsReference: Bool
    /// Whether it hands over what was finished before; then its conversation has the message already.
    var isReplay = false
    /// Whether it goes out unasked; then its only line is the one that says what became of it.
    var isOutbound = false
    /// What the customer does with it.
    var act = ReceivedMessage.Act.writes
    var isDecided = false
    /// How often the process ended while its handler had it.
    var crashes: UInt8 = 0
    /// How often it was given back without an attempt.
    var timesGivenBack: UInt8 = 0
    /// How often that was for trouble that may pass.
    var timesPassing: UInt8 = 0
    /// Whether it was taken out of its conversation's order.
    var isParked = false
    /// Whether one that came before it was parked.
    var isAfterGap = false
    /// When a parked one that was recovered is due.
    var due: Timestamp?
    let isRecovered: Bool
    /// The kind, once its conversation line was written.
    var recordedKind: Kind?
    /// The kind, once its conversation's file refused the line.
    var refusedKind: Kind?
    /// The message that it says once more, as that line does.
    var recordedOriginal: MessageID?
}

/// A delivery that was taken out of its queue for an attempt.
struct Lease: Sendable {
    let conversation: ConversationKey
    let pending: PendingDelivery
}
