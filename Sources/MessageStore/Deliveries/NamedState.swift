/// A finished message and the state in which an operator saw it; the operator's command applies to that state
/// only.
///
/// A repeated command names the same state again, so the store detects that the message has changed since.
package struct NamedState: Hashable, Sendable {
    /// The number of the message's record.
    package var record: UInt64
    /// The state of the message.
    package var status: JournalEvent.Status
    /// The record of its latest replay; nil when there was none.
    package var replay: UInt64?

    /// Names a state of the message with this record.
    package init(record: UInt64, status: JournalEvent.Status, replay: UInt64?) {
        self.record = record
        self.status = status
        self.replay = replay
    }

    /// Names the current state of an event.
    package init(_ event: JournalEvent) {
        self.init(record: event.record, status: event.status, replay: event.replayedAs)
    }
}

/// The result for one message that an operator wanted to deliver again, or one reply to send again.
package struct ReplayResult<Original: Hashable & Sendable>: Hashable, Sendable {
    /// The number of the message's record, or the identity of the reply.
    package var original: Original
    /// The record of the message that is delivered, or that sends the reply.
    package var record: UInt64
    /// Whether an earlier command had already replayed the original, so that this command changed nothing.
    package var isRepetition: Bool

    /// Creates a result.
    package init(of original: Original, as record: UInt64, isRepetition: Bool) {
        self.original = original
        self.record = record
        self.isRepetition = isRepetition
    }
}
