import BalloonPOSIX
import BusinessMessages

extension Store {
    /// Hands finished messages over again, each as a delivery of its own at the end of its conversation; returns their
    /// new records.
    ///
    /// All of them or none, each once though it is named twice, and durable when it returns. Never taken for a repetition;
    /// a dead letter that is handed over again is none any more.
    /// Throws ``StoreError/unknownRecord(_:)`` and ``StoreError/notFinished(record:)``; then none is.
    package func replay(_ records: [UInt64]) async throws -> [UInt64] {
        // What was finished a moment ago may still be on its way to the file.
        await journal.flush()
        let events = try await files.eventsOnQueue(records)
        if let open = events.first(where: { !$0.isFinished }) {
            throw StoreError.notFinished(record: open.record)
        }
        let messages = events.map(\.replay)
        let written = try await journal.append(
            zip(messages, events).map { JournalBody.message($0, replayOf: $1.record) })
        for record in records { accounts.noteDecision(about: record) }
        let leases = zip(messages, written).map { message, record in
            Lease(
                conversation: ConversationKey(business: message.business, customer: message.customer),
                pending: PendingDelivery(
                    record: record.number, location: record.location,
                    awaitsReference: message.hasPayloadReference, isReplay: true,
                    isOutbound: message.outboundKind != nil, isDecided: message.outboundKind != nil,
                    isRecovered: false))
        }
        accounts.noteMessages(in: leases.map(\.pending.location.segment))
        scheduler.add(leases)
        return written.map(\.number)
    }

    /// Takes messages off the dead letters for good.
    ///
    /// All of them or none, and durable when it returns. Throws ``StoreError/unknownRecord(_:)`` and ``StoreError/notDead(record:)``; then none is.
    package func drop(_ records: [UInt64]) async throws {
        await journal.flush()
        let events = try await files.eventsOnQueue(records)
        if let other = events.first(where: { !$0.isDeadLetter }) {
            throw StoreError.notDead(record: other.record)
        }
        _ = try await journal.append(events.map { JournalBody.dropped(of: $0.record, at: .now()) })
        for record in records { accounts.noteDecision(about: record) }
    }
}
