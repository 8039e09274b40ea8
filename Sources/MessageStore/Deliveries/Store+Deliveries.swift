import BalloonPOSIX
package import BusinessMessages
import Logging
import Synchronization

extension Store {
    /// Waits for a message whose payload must be fetched; nil when the store closes or the task is cancelled.
    ///
    /// Outside the order of conversations, and each once in this life of the store; several may be out, of one business
    /// no more than ``limitReferences(slots:share:)`` allows until ``release(_:)``.
    package func nextReference() async -> PendingReference? {
        while let lease = await scheduler.nextReference() {
            do {
                let records = try DeliveryRecords(lease.pending, from: reader)
                return PendingReference(
                    record: lease.pending.record, business: lease.conversation.business,
                    customer: lease.conversation.customer, id: records.id, message: records.message,
                    receivedAt: records.receivedAt)
            } catch {
                scheduler.releaseReference(of: lease.conversation.business)
                if isPassing(error, lease) {
                    scheduler.giveBackReference(lease)
                } else {
                    scheduler.withQueues { $0.noteUnreadable() }
                }
            }
        }
        return nil
    }

    /// Takes back the slot of a reference, resolved or not; to be called once for each that was handed out.
    package func release(_ reference: PendingReference) {
        scheduler.releaseReference(of: reference.business)
    }

    /// Changes how many references may be out at once, and how many of them each business may have in any case; without
    /// it 16 and 4. See ``FairQueue``.
    package func limitReferences(slots: Int, share: Int) {
        scheduler.limitReferences(slots: slots, share: share)
    }

    /// Changes how many messages of each business may wait to be finished, and how many of every other business; over it
    /// ``StoreError/quotaReached(maximum:)``. Without it there is no such bound.
    package func limitPending(_ quotas: [BusinessID: Int], others: Int) {
        scheduler.quotas.set(quotas, others: others)
    }

    /// Journals the end of a reference; the delivery can be leased from then on.
    package func resolve(_ reference: PendingReference, _ resolution: Resolution) async throws {
        let key = ConversationKey(business: reference.business, customer: reference.customer)
        guard scheduler.withQueues({ $0.awaitsReference(reference.record, of: key) }) else {
            throw StoreError.alreadyResolved(record: reference.record)
        }
        let record = try await journal.append(
            JournalBody.resolved(of: reference.record, resolution, at: .now()))
        scheduler.resolve(reference.record, of: key, at: record.location)
    }

    /// Waits for the next delivery of a business and leases it; nil when the store closes or the task is
    /// cancelled.
    ///
    /// First in, first out in each conversation and at most one out of each; conversations side by side.
    package func nextDelivery(for business: BusinessID) async -> Delivery? {
        while let lease = await scheduler.next(for: business) {
            if held.keeps(lease) { continue }
            if let delivery = delivery(lease) { return delivery }
        }
        return nil
    }

    /// What the journal says of a lease; nil when it cannot be read, and then the lease is given back or stands still.
    func delivery(_ lease: Lease) -> Delivery? {
        do throws(StoreError) {
            let records = try DeliveryRecords(lease.pending, from: reader)
            if let outcome = records.decided {
                let known = DecidedDelivery(
                    outcome: outcome, decision: records.decision, ends: records.replies)
                decided.withLock { $0[lease.pending.record] = known }
            }
            return records.delivery(lease)
        } catch {
            if isPassing(error, lease) {
                _ = scheduler.giveBack(lease.pending.record, of: lease.conversation)
            } else {
                scheduler.withQueues { $0.giveUp(lease) }
            }
            return nil
        }
    }

    /// Keeps what an earlier attempt decided about the state, which it may not have come to; to be called before the
    /// delivery goes on, and however often it is.
    package func rememberDecision(of delivery: Delivery) async throws {
        _ = try leased(delivery)
        guard let known = decided.withLock({ $0[delivery.record] }) else { return }
        try await remember(known.outcome.state, decidedBy: known.decision, in: delivery.conversation)
    }

    /// Appends the message's line to its conversation's file, once however often it is called.
    ///
    /// Returns when the system has the line; the journal can write it again after a power cut. Waits for the disk on the
    /// caller's thread, as everything here does that reads or writes a conversation.
    ///
    /// `original` is the message that this one says once more, if it does; `files` what became of its attachments.
    package func recordInbound(
        _ delivery: Delivery, kind: Kind, message: [UInt8], repeating original: MessageID? = nil,
        files: [RecordedFile] = []
    ) async throws {
        let key = delivery.conversation
        let pending = try leased(delivery)
        if pending.recordedKind != nil { return }
        guard !pending.isReplay, !pending.isOutbound else {
            _ = scheduler.withQueues { $0.update(delivery.record, of: key) { $0.recordedKind = kind } }
            return
        }
        let entry = ConversationEntry(
            conversation: key, record: delivery.record, at: delivery.receivedAt, id: delivery.id, kind: kind,
            message: message, repeats: original, files: files)
        do { try write(entry, mightBeThere: pending.isRecovered) } catch {
            _ = scheduler.withQueues { $0.update(delivery.record, of: key) { $0.refusedKind = kind } }
            throw error
        }
        _ = scheduler.withQueues { queues in
            queues.update(delivery.record, of: key) {
                $0.recordedKind = kind
                $0.recordedOriginal = original
            }
        }
    }

    /// Journals what became of a message's attachments; returns when it is on disk.
    package func recordFiles(_ delivery: Delivery, _ files: [RecordedFile]) async throws {
        _ = try leased(delivery)
        let record = try await journal.append(JournalBody.files(of: delivery.record, files, at: .now()))
        relate(record.location, to: delivery)
    }

    /// The last lines of a conversation, oldest first; reads no more of the file than it must.
    ///
    /// No more than have `maximumBytes` together, but always the last.
    package func recentLines(
        of business: BusinessID, _ customer: CustomerID, maximum: Int, maximumBytes: Int = .max
    ) throws -> [ConversationLine] {
        try conversations.lines(
            of: ConversationKey(business: business, customer: customer), maximum: maximum,
            maximumBytes: maximumBytes)
    }

    /// Throws when a conversation is known to be damaged, so that nobody is asked about what was said there.
    package func checkIntact(_ business: BusinessID, _ customer: CustomerID) throws {
        try conversations.checkIntact(ConversationKey(business: business, customer: customer))
    }

    /// Journals what the handler decided, with every reply's id and bytes; returns when it is on disk.
    ///
    /// Throws ``StoreError/alreadyDecided(record:)`` for the second decision about a delivery.
    package func decide(_ delivery: Delivery, _ outcome: DecidedOutcome) async throws {
        let key = delivery.conversation
        let pending = try leased(delivery)
        let isFirst = scheduler.withQueues { queues in
            var isFirst = false
            _ = queues.update(delivery.record, of: key) {
                isFirst = !$0.isDecided
                $0.isDecided = true
            }
            return isFirst
        }
        guard isFirst else { throw StoreError.alreadyDecided(record: delivery.record) }
        calls.end(delivery.record)
        do {
            let record = try await journal.append(
                JournalBody.outcome(
                    of: delivery.record, attempt: delivery.attempt, kind: pending.recordedKind, outcome,
                    at: .now()))
            decided.withLock {
                $0[delivery.record] = DecidedDelivery(outcome: outcome, decision: record.number, ends: [:])
            }
            relate(record.location, to: delivery)
            try await remember(outcome.state, decidedBy: record.number, in: key)
        } catch {
            _ = scheduler.withQueues { $0.update(delivery.record, of: key) { $0.isDecided = false } }
            throw error
        }
    }

    /// Journals what finally became of a reply, then appends its line to the conversation's file; once per
    /// reply however often it is called.
    package func recordReply(_ delivery: Delivery, index: Int, result: ReplyResult) async throws {
        let pending = try leased(delivery)
        guard let known = decided.withLock({ $0[delivery.record] }),
            known.outcome.replies.indices.contains(index)
        else { throw StoreError.unknownReply(record: delivery.record, index: index) }
        let reply = known.outcome.replies[index]
        let end: DeliveryRecords.ReplyEnd
        if let journalled = known.ends[index] {
            end = journalled
        } else {
            end = DeliveryRecords.ReplyEnd(result: result, at: .now())
            let record = try await journal.append(
                JournalBody.reply(of: delivery.record, index: index, id: reply.id, result, at: end.at))
            decided.withLock { $0[delivery.record]?.ends[index] = end }
            relate(record.location, to: delivery)
        }
        if known.written.contains(index) { return }
        let entry = ConversationEntry(
            conversation: delivery.conversation, record: delivery.record, at: end.at, id: reply.id,
            kind: reply.kind, message: reply.message, result: end.result)
        try write(entry, mightBeThere: pending.isRecovered || known.ends[index] != nil)
        _ = decided.withLock { $0[delivery.record]?.written.insert(index) }
    }

    /// Gives the lease back; the delivery is leased again after the delay.
    ///
    /// It stays first in its conversation, unless it `parks` or did before: then the others go on without it, and the
    /// next of them is told so.
    package func postpone(_ delivery: Delivery, after delay: Duration, parks: Bool = false) {
        let key = delivery.conversation
        let isParked = parks || delivery.isParked
        let now = Timestamp.now()
        calls.end(delivery.record)
        guard
            isParked
                ? scheduler.park(delivery.record, of: key, after: delay)
                : scheduler.postpone(delivery.record, of: key, after: delay)
        else { return }
        decided.withLock { $0[delivery.record] = nil }
        // Only a count of attempts is lost when the store is closed.
        try? journal.append(
            JournalBody.attempt(
                of: delivery.record, delivery.attempt, at: now, next: now.advanced(by: delay),
                isParked: isParked),
            for: .nobody)
    }

    /// Gives the lease back as if it had never been taken: no attempt counts, nothing is journalled, and nothing is
    /// parked that was not; the delivery is leased again after a pause that grows with each time up to half a minute.
    ///
    /// For a store that cannot write, and for who finds nobody to give the delivery to. Returns the pause; nil when the
    /// delivery is not leased.
    package func giveBack(_ delivery: Delivery) -> Duration? {
        calls.end(delivery.record)
        guard let delay = scheduler.giveBack(delivery.record, of: delivery.conversation) else { return nil }
        decided.withLock { $0[delivery.record] = nil }
        return delay
    }

    /// The same for trouble that may pass, at most so many times; nil when it did not pass, and an attempt must count.
    package func giveBack(_ delivery: Delivery, atMost maximum: UInt8) -> Duration? {
        let mayPass = scheduler.withQueues { queues in
            var mayPass = false
            _ = queues.update(delivery.record, of: delivery.conversation) {
                mayPass = $0.timesPassing < maximum
                if mayPass { $0.timesPassing += 1 }
            }
            return mayPass
        }
        return mayPass ? giveBack(delivery) : nil
    }

    /// Notes that a handler is given the delivery: should the process end before the delivery is decided, postponed or
    /// finished, the next life counts a crash.
    package func beginHandling(_ delivery: Delivery) { calls.begin(delivery.record) }

    /// Ends a delivery; the next one of its conversation can be leased.
    ///
    /// Does not wait for the disk: after a crash the delivery may be leased again, with its outcome if it was
    /// decided.
    package func finish(_ delivery: Delivery, result: DeliveryResult) async throws {
        if result.isDeadLetter { vouchForRefusedLines(of: delivery) }
        let pending = try leased(delivery)
        calls.end(delivery.record)
        let ended = EndedDelivery(
            record: delivery.record, segment: pending.location.segment, isDeadLetter: result.isDeadLetter)
        // Before it leaves the queues: who looks there and then into the journal finds it.
        try journal.append(
            JournalBody.finished(of: delivery.record, kind: pending.recordedKind, result, at: .now()),
            for: .ended(ended))
        _ = scheduler.finish(delivery.record, of: delivery.conversation)
        decided.withLock { $0[delivery.record] = nil }
    }

    /// Has lines written from the journal that the conversation's file refused to the end, and no checkpoint made before.
    private func vouchForRefusedLines(of delivery: Delivery) {
        let known = decided.withLock { $0[delivery.record] }
        let isReplyMissing = known.map { !$0.written.isSuperset(of: $0.ends.keys) } ?? false
        let isMessageMissing = scheduler.withQueues { queues in
            var isMissing = false
            _ = queues.update(delivery.record, of: delivery.conversation) { pending in
                guard pending.recordedKind == nil, let kind = pending.refusedKind else { return }
                pending.recordedKind = kind
                isMissing = true
            }
            return isMissing
        }
        if isReplyMissing || isMessageMissing {
            checkpointer.distrust(RefusedLines(record: delivery.record))
        }
    }

    private func leased(_ delivery: Delivery) throws -> PendingDelivery {
        guard let pending = scheduler.withQueues({ $0.leased(delivery.record, of: delivery.conversation) })
        else {
            throw StoreError.notLeased(record: delivery.record)
        }
        return pending
    }

    private func relate(_ location: RecordLocation, to delivery: Delivery) {
        _ = scheduler.withQueues {
            $0.update(delivery.record, of: delivery.conversation) { $0.related.append(location) }
        }
    }

    private func write(_ entry: ConversationEntry, mightBeThere: Bool) throws {
        do {
            try conversations.append(entry, mightBeThere: mightBeThere)
            checkpointer.noteWrite()
            gate.noteWrite()
        } catch {
            checkpointer.noteFailure(of: entry, error)
            gate.noteFailure(error)
            throw error
        }
    }

    /// Whether what cannot be read now may be read later, which is said once; what is damaged never will.
    private func isPassing(_ error: any Error, _ lease: Lease) -> Bool {
        let metadata: Logger.Metadata = ["record": "\(lease.pending.record)", "error": "\(error)"]
        guard case StoreError.unavailable = error else {
            logger.critical("a journalled message cannot be read back", metadata: metadata)
            return false
        }
        if lease.pending.timesGivenBack == 0 {
            logger.error("a journalled message cannot be read; it is tried again", metadata: metadata)
        }
        return true
    }
}

/// A delivery ended while its conversation's file refused lines that the journal has.
private struct RefusedLines: Error, CustomStringConvertible {
    let record: UInt64

    var description: String { "a conversation's file refused lines of message \(record)" }
}

extension Delivery {
    var conversation: ConversationKey { ConversationKey(business: business, customer: customer) }
}
