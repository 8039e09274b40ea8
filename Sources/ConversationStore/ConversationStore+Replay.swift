import BalloonPOSIX
import BusinessMessages

extension ConversationStore {
    /// Hands finished messages over again, each as a delivery of its own at the end of its conversation; returns their
    /// new records.
    ///
    /// Durable when it returns. Never taken for a repetition; a dead letter that is handed over again is none any more.
    /// Throws ``StoreError/unknownRecord(_:)`` and ``StoreError/notFinished(record:)``; then none is.
    package func replay(_ records: [UInt64]) async throws -> [UInt64] {
        // What was finished a moment ago may still be on its way to the file.
        await journal.flush()
        let events = try files.events(records)
        if let open = events.first(where: { !$0.isFinished }) {
            throw StoreError.notFinished(record: open.record)
        }
        var replays: [UInt64] = []
        for event in events {
            let message = event.replay
            let written = try await journal.append(JournalBody.message(message, replayOf: event.record))
            scheduler.add([
                Lease(
                    conversation: ConversationKey(business: message.business, customer: message.customer),
                    pending: PendingDelivery(
                        record: written.number, location: written.location,
                        awaitsReference: message.hasPayloadReference, isReplay: true,
                        isOutbound: message.outboundKind != nil, isDecided: message.outboundKind != nil,
                        isRecovered: false))
            ])
            replays.append(written.number)
        }
        return replays
    }

    /// Takes messages off the dead letters for good.
    ///
    /// Durable when it returns. Throws ``StoreError/unknownRecord(_:)`` and ``StoreError/notDead(record:)``; then none is.
    package func drop(_ records: [UInt64]) async throws {
        await journal.flush()
        let events = try files.events(records)
        if let other = events.first(where: { !$0.isDeadLetter }) {
            throw StoreError.notDead(record: other.record)
        }
        for event in events {
            _ = try await journal.append(JournalBody.dropped(of: event.record, at: .now()))
        }
    }
}
