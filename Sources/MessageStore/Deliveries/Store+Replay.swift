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
        if let failure = events.first(where: \.isReplyFailure) {
            throw StoreError.notReplayable(record: failure.record)
        }
        let messages = events.map(\.replay)
        let written = try await journal.append(
            zip(messages, events).map { (JournalBody.message($0, replayOf: $1.record), .message) })
        for record in records {
            accounts.withLedger { $0.recordDecision(about: DeadLetter(record, reply: nil)) }
        }
        for (message, record) in zip(messages, written) {
            guard message.outboundKind == nil else {
                addToOutbox(message, as: record)
                continue
            }
            var pending = PendingDelivery(
                record, awaitsReference: message.hasPayloadReference, act: message.act)
            pending.isReplay = true
            pending.recording = .notNeeded
            scheduler.add([
                Lease(
                    conversation: ConversationKey(business: message.business, customer: message.customer),
                    pending: pending)
            ])
        }
        return written.map(\.number)
    }

    /// Queues replies that are dead letters once more, with the same ids and bytes; returns the records of the new entries.
    ///
    /// An `edited` reply, with an id of its own, goes instead of the one that is named.
    /// All of them or none, each once though it is named twice, and durable when it returns.
    /// Throws ``StoreError/unknownReply(record:index:)`` and ``StoreError/notDead(record:)``; then none is.
    package func retry(_ replies: [ReplyID], as edited: DecidedReply? = nil) async throws -> [UInt64] {
        await journal.flush()
        let dead = try await files.repliesOnQueue(replies)
        if let other = dead.first(where: { !$0.isDeadLetter }) {
            throw StoreError.notDead(record: other.id.record)
        }
        let messages = dead.map { $0.retry(as: edited) }
        let written = try await journal.append(
            zip(messages, dead).map { message, reply in
                (
                    JournalBody.message(message, replayOf: reply.id.record, retriedReply: reply.id.index),
                    .message
                )
            })
        for (message, (record, reply)) in zip(messages, zip(written, dead)) {
            accounts.withLedger {
                $0.recordDecision(about: DeadLetter(reply.id.record, reply: reply.id.index))
            }
            addToOutbox(message, as: record)
        }
        return written.map(\.number)
    }

    /// Ends queued replies as dropped, and removes replies from the dead letters for good.
    ///
    /// All of them are dead or queued, or none is dropped; durable when it returns. A reply that is being sent is dropped
    /// only when that attempt fails: then it throws ``StoreError/beingSent(_:)``, and the operator repeats the command.
    /// Throws ``StoreError/unknownReply(record:index:)`` and ``StoreError/notDead(record:)``.
    package func drop(_ replies: [ReplyID], reason: String) async throws {
        await journal.flush()
        for reply in try await files.repliesOnQueue(replies) {
            switch reply.status {
            case .refused, .expired, .failed:
                _ = try await journal.append(
                    JournalBody.dropped(of: reply.id.record, reply: reply.id.index, at: .now()),
                    effect: .decision(about: DeadLetter(reply.id.record, reply: reply.id.index)))
            case .queued:
                guard let entry = leaseReply(reply.id) else { throw StoreError.beingSent(reply.id) }
                try await settle(entry, .dropped(reason: reason))
            case .accepted, .dropped, .retried: throw StoreError.notDead(record: reply.id.record)
            }
        }
    }

    /// Removes messages from the dead letters for good.
    ///
    /// All of them or none, and durable when it returns. Throws ``StoreError/unknownRecord(_:)`` and ``StoreError/notDead(record:)``; then none is.
    package func drop(_ records: [UInt64]) async throws {
        await journal.flush()
        let events = try await files.eventsOnQueue(records)
        if let other = events.first(where: { !$0.isDeadLetter }) {
            throw StoreError.notDead(record: other.record)
        }
        _ = try await journal.append(
            events.map {
                (
                    JournalBody.dropped(of: $0.record, at: .now()),
                    .decision(about: DeadLetter($0.record, reply: nil))
                )
            })
    }

    private func addToOutbox(_ message: ReceivedMessage, as record: JournalledRecord) {
        let key = ConversationKey(business: message.business, customer: message.customer)
        outbox.add(message, as: record, isClosed: scheduler.closes(key))
    }
}
