import BalloonPOSIX
import BusinessMessages

extension Store {
    /// Replays finished messages, each as a new delivery at the end of its conversation; returns the new
    /// records.
    ///
    /// Replays either all messages or none, durably before it returns; a message that is named twice is
    /// replayed once. A replay does not count as a copy of its message. A dead letter that is replayed is no
    /// longer a dead letter. Throws ``StoreError/unknownRecord(_:)``, ``StoreError/notFinished(record:)``,
    /// and ``StoreError/notReplayable(record:)`` for the report of a failed reply; then no message is
    /// replayed.
    package func replay(_ records: [UInt64]) async throws -> [UInt64] {
        let events = try await currentEvents(records)
        if let open = events.first(where: { !$0.isFinished }) {
            throw StoreError.notFinished(record: open.record)
        }
        if let failure = events.first(where: \.isReplyFailure) {
            throw StoreError.notReplayable(record: failure.record)
        }
        let messages = events.map(\.replay)
        let written = try await journal.append(
            zip(messages, events).map { JournalBody.message($0, replayOf: $1.record) })
        for (message, record) in zip(messages, written) {
            guard message.outboundKind == nil else {
                addToOutbox(message, as: record)
                continue
            }
            var pending = PendingDelivery(
                record, awaitsReference: message.hasPayloadReference, act: message.act)
            pending.isReplay = true
            pending.recording = .notNeeded
            scheduler.add([Lease(conversation: message.conversation, pending: pending)])
        }
        return written.map(\.number)
    }

    /// Removes messages from the dead letters permanently.
    ///
    /// Removes either all messages or none, durably before it returns. Throws ``StoreError/unknownRecord(_:)`` and
    /// ``StoreError/notDead(record:)``; then none is removed.
    package func drop(_ records: [UInt64]) async throws {
        let events = try await currentEvents(records)
        if let other = events.first(where: { !$0.isDeadLetter }) {
            throw StoreError.notDead(record: other.record)
        }
        _ = try await journal.append(
            events.map { JournalBody.dropped(of: $0.record, at: .now()) })
    }

    func addToOutbox(_ message: ReceivedMessage, as record: JournalledRecord) {
        outbox.add(
            message, message.key, as: record, isClosed: scheduler.closes(message.conversation), isRetry: true)
    }
}
