/// A finished message in the state in which an operator saw it: what a command asks to change.
///
/// A command that is repeated names the same state, and finds it changed.
package struct NamedState: Hashable, Sendable {
    /// The message's record.
    package let record: UInt64
    /// What had become of the message.
    package let status: JournalEvent.Status
    /// The record as which it had been handed over again last; nil when it had not.
    package let replay: UInt64?

    /// Names a message's state.
    package init(record: UInt64, status: JournalEvent.Status, replay: UInt64?) {
        self.record = record
        self.status = status
        self.replay = replay
    }

    /// The state that an event shows.
    package init(_ event: JournalEvent) {
        self.init(record: event.record, status: event.status, replay: event.replayedAs)
    }
}

/// What became of one message that was to be handed over again.
package struct ReplayResult: Hashable, Sendable {
    /// The message's record.
    package let record: UInt64
    /// The record as which it is handed over again.
    package let replay: UInt64
    /// Whether an earlier command had done it.
    package let isRepetition: Bool

    /// Names the records.
    package init(record: UInt64, replay: UInt64, isRepetition: Bool) {
        self.record = record
        self.replay = replay
        self.isRepetition = isRepetition
    }
}
