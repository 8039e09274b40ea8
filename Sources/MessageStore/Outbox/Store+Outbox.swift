import BalloonJSON
package import BalloonPOSIX
package import BusinessMessages
import Logging

extension Store {
    /// Yields a value whenever a reply may have become available; ends when the store stops leasing.
    ///
    /// Only one consumer may read the stream.
    package var replyWakeups: AsyncStream<Void> { outbox.wakeups }

    /// Yields a value in ``replyWakeups`` at `due`, which is a time of ``SteadyClock``; without it, at once.
    package func wakeReplySender(at due: Timestamp? = nil) { outbox.wakeSender(at: due) }

    /// Sets the rule for the time that a customer sees somebody type before an automatic message; nil is no time.
    ///
    /// Nothing waits behind a handler's own indicator, after a restart, before a retry, and while a person has the
    /// conversation.
    package func pauseReplies(_ length: @escaping @Sendable (BusinessID, DecidedReply) -> Duration?) {
        outbox.setPauses(length)
    }

    /// Yields each conversation whose customer shall see now that somebody types; ends when the store stops leasing.
    ///
    /// Only one consumer may read the stream.
    package var begunPauses: AsyncStream<ReplyPause> { outbox.begunPauses }

    /// The number of unfinished replies; never blocks.
    package var queuedReplyCount: Int { outbox.count }

    /// Leases the next queued reply that `selection` allows; nil when none can be sent now.
    ///
    /// Replies of a conversation are sent in the order of their decisions, one at a time.
    package func leaseReply(_ selection: OutboxSelection = .any()) -> OutboxEntry? {
        if gate.isInDoubt { return nil }
        while let queued = outbox.lease(selection, at: SteadyClock.now()) {
            if let entry = entry(queued) { return entry }
        }
        return nil
    }

    /// Leases a reply that was decided longer than `lifetime` ago; nil when there is none.
    ///
    /// The caller must settle it as expired.
    package func leaseExpiredReply(after lifetime: Duration) -> OutboxEntry? {
        while let queued = outbox.leaseExpired(at: .now(), after: lifetime) {
            if let entry = entry(queued) { return entry }
        }
        return nil
    }

    /// Leases the next reply of one conversation, for a program that sends replies without running a server.
    package func leaseReply(of business: BusinessID, _ customer: CustomerID) -> OutboxEntry? {
        let key = ConversationKey(business: business, customer: customer)
        guard let first = outbox.queued(of: key, maximum: 1).first,
            first.due.map({ $0 <= SteadyClock.now() }) ?? true, !outbox.withQueue({ $0.holds(key) })
        else { return nil }
        return leaseReply(first.id)
    }

    /// Returns whether the customer has closed the conversation of a leased reply by now, and not written since.
    ///
    /// May read the end of the conversation's file.
    package func isClosedByCustomer(_ entry: OutboxEntry) throws -> Bool {
        try outbox.withQueue { $0.isClosed(entry.conversation) }
            ?? isClosedByCustomer(entry.business, entry.customer)
    }

    /// Leases the reply with this identity; nil when it is leased or has ended.
    func leaseReply(_ id: ReplyID) -> OutboxEntry? { outbox.lease(id).flatMap { entry($0) } }

    /// Writes the end of a reply to the journal, waits for the disk, and then writes the conversation's line.
    ///
    /// Must be repeated after an error; completed steps are skipped. Does nothing for a reply that has ended
    /// already. With `leavesLine`, the reply also ends when only the conversation's file cannot be written;
    /// the journal keeps the line.
    ///
    /// With `isReported`, the end of a refused or expired reply is also an event for the handler. One record
    /// is both the end and the event, so neither exists without the other. See ``OutboxEntry/isReportable``.
    package func settle(
        _ entry: OutboxEntry, _ result: ReplyResult, leavesLine: Bool = false, isReported: Bool = false
    ) async throws {
        guard let queued = outbox.withQueue({ $0.entry(entry.id) }) else { return }
        var ended = queued.end
        if ended == nil {
            let at = Timestamp.now()
            let reports = isReported && entry.isReportable && result.isDeadLetter
            // An answer with a status is one to a request.
            let tried = max(tries(entry), entry.attempts + (result.httpStatus == nil ? 0 : 1))
            let body = JournalBody.reply(entry, result, attempts: tried, isReported: reports, at: at)
            let line = unwrittenLines.begin(
                after: journal.lastRecord,
                UnwrittenLines.Reply(
                    conversation: entry.conversation, end: body,
                    line: LineIdentity(record: entry.id.record, reply: entry.reply.id)))
            var isRecorded = false
            defer { if !isRecorded { unwrittenLines.end(line) } }
            let record = try await journal.append(body)
            unwrittenLines.recordEnd(line, as: record.number)
            var end = OutboxQueue.End(
                result: result, at: at, line: line, report: reports ? record : nil)
            isRecorded = outbox.withQueue { $0.recordEnd(entry.id, end) }
            if !isRecorded { end.report = nil }
            ended = end
        }
        guard let end = ended else { return }
        let line = ConversationEntry(
            conversation: entry.conversation, record: entry.id.record, at: end.at, id: entry.reply.id,
            kind: entry.reply.kind, message: entry.reply.message, result: end.result, author: entry.author)
        do { try write(line, mightBeThere: entry.isRecovered || queued.end != nil) } catch {
            // The journal has the data of the line, and a repair of the conversation writes the line later.
            guard leavesLine, case StoreError.unavailable(_, let reason) = error, !reason.isDiskWide else {
                throw error
            }
            checkpointer.distrust(RefusedLines(record: entry.id.record))
            feed.add(line, nil)
        }
        unwrittenLines.end(end.line)
        if queued.key != nil, !queued.isRecovered, let digest = queued.requestDigest {
            let sent = SentMessage(
                customer: entry.customer, requestDigest: digest, result: end.result)
            acceptedMessages.insert(sent, record: entry.id.record)
        }
        outbox.settle(entry.id)
        // The event comes after the line, so that the handler finds the line in the conversation.
        guard let report = end.report else { return }
        scheduler.add([Lease(conversation: entry.conversation, pending: PendingDelivery(failureIn: report))])
    }

    /// Ends a reply's lease after a failed attempt; the next attempt is due after `delay`.
    ///
    /// A probe of the gateway may lease the reply earlier, after `minimum`. Only later replies of the same
    /// conversation wait for it. The number of attempts is written with the journal's next batch; a crash
    /// before loses it.
    package func postpone(_ entry: OutboxEntry, after delay: Duration, atLeast minimum: Duration? = nil) {
        let steady = SteadyClock.now()
        outbox.postpone(
            entry.id, until: steady.advanced(by: delay),
            notBefore: steady.advanced(by: min(minimum ?? .zero, delay)))
        let now = Timestamp.now()
        // The error is ignored: if the store is closed, only the count of this attempt is lost.
        try? journal.append(
            JournalBody.replyAttempt(
                of: entry.id, entry.attempts + 1, at: now, next: now.advanced(by: delay)), for: .none)
    }

    /// Counts a request to the gateway for a leased reply.
    package func countPost(_ entry: OutboxEntry) { outbox.withQueue { $0.countPost(entry.id) } }

    /// How often a reply was tried so far.
    package func tries(_ entry: OutboxEntry) -> Int { outbox.withQueue { $0.tries(entry.id) } }

    /// Ends the lease of a reply without counting an attempt.
    package func release(_ entry: OutboxEntry) { outbox.release(entry.id) }

    /// Returns the queued replies of a conversation in the order in which they are sent; at most `maximum`.
    package func queuedReplies(
        of business: BusinessID, _ customer: CustomerID, maximum: Int = 100
    ) -> [OutboxEntry] {
        let key = ConversationKey(business: business, customer: customer)
        return outbox.queued(of: key, maximum: maximum).compactMap { entry($0, isLeased: false) }
    }

    /// Returns a queued reply with its text; nil when the reply's records are unreadable.
    ///
    /// After a disk error a leased reply is retried in 30 s; otherwise it is blocked until a restart.
    private func entry(_ queued: OutboxQueue.Entry, isLeased: Bool = true) -> OutboxEntry? {
        do throws(StoreError) {
            let text =
                if let text = queued.text { text } else {
                    try ReplyText(queued.id, at: queued.place, from: reader)
                }
            return OutboxEntry(
                id: queued.id, business: text.business, customer: text.customer, reply: text.reply,
                inReplyTo: text.inReplyTo, decidedAt: queued.decidedAt, attempts: queued.attempts,
                author: text.author, until: text.until, attributes: text.attributes,
                answersFailure: queued.answersFailure, isRecovered: queued.isRecovered)
        } catch {
            guard isLeased else { return nil }
            logger.error(
                "queued reply cannot be read from the journal; it is not sent",
                metadata: ["reply": "\(queued.id)", "error": "\(error)"])
            // After any other error, the reply stays leased, and its conversation blocked, until a restart.
            if case .unavailable = error {
                outbox.postpone(queued.id, until: SteadyClock.now().advanced(by: .seconds(30)))
            }
            return nil
        }
    }

    /// Queues the replies of a decided outcome.
    func enqueue(
        _ outcome: DecidedOutcome, of delivery: Delivery, decision: RecordLocation,
        at: Timestamp
    ) {
        let isPaused = !hasPerson(delivery.conversation)
        // No pause holds back the first answer of a new conversation for more than 4 s after the customer's message.
        let age = remaining(until: .now(), from: delivery.receivedAt)
        let firstEnd = delivery.begins.map { _ in SteadyClock.now().advanced(by: .seconds(4) - age) }
        let entries = outcome.replies.enumerated().map { index, reply in
            let id = ReplyID(record: delivery.record, index: index)
            let text = ReplyText(
                business: delivery.business, customer: delivery.customer, reply: reply,
                inReplyTo: delivery.id,
                author: reply.author ?? outcome.author, attributes: delivery.attributes)
            return OutboxQueue.Entry(
                id: id, conversation: delivery.conversation, decidedAt: at,
                isTyping: reply.kind == .typingStart,
                place: .outcome(decision, event: delivery.location), text: text,
                answersFailure: delivery.isReplyFailure,
                pause: isPaused
                    ? outbox.pause(
                        before: reply, of: delivery.business, end: index == 0 ? firstEnd : nil) : nil)
        }
        // The customer has just written, so the conversation is open unless a later message closed it.
        let isLatest = !delivery.isParked && !delivery.isReplay && delivery.act == .writes
        outbox.add(entries, isClosed: scheduler.closes(delivery.conversation) ?? (isLatest ? false : nil))
    }

    /// Whether a person has the conversation.
    func hasPerson(_ key: ConversationKey) -> Bool {
        journalState.withAssignments { $0.assignment(of: key).state == .person }
    }

    /// Queues the unfinished replies of earlier processes.
    func enqueue(_ recovered: [JournalState.Message]) {
        // Limit the pause to 60 s, because the wall clock of an earlier process may have been ahead.
        let latest = SteadyClock.now().advanced(by: .seconds(60))
        for message in recovered {
            let state = message.state
            for (index, reply) in state.replies.enumerated() where reply.status == .queued {
                guard let place = state.place(ofReply: index) else { continue }
                let entry = OutboxQueue.Entry(
                    id: ReplyID(record: state.record, index: index), conversation: message.conversation,
                    decidedAt: reply.decidedAt, isTyping: false, place: place, isRecovered: true,
                    key: message.key, answersFailure: state.isReplyFailure, attempts: reply.attempts,
                    due: reply.next.map { min($0, latest) })
                outbox.add([entry], isClosed: nil)
            }
        }
    }
}

extension Outbox {
    /// Queues a proactive message, which counts as decided at the time when it was stored.
    ///
    /// With `isRetry`, an operator sends it again, and no pause comes before it.
    func add(
        _ message: ReceivedMessage, _ key: MessageKey, as record: JournalledRecord, isClosed: Bool?,
        isRetry: Bool = false
    ) {
        let id = ReplyID(record: record.number, index: 0)
        let reply = DecidedReply(
            id: message.id, kind: message.outboundKind ?? .unrecognized, message: message.message)
        let text = ReplyText(
            business: message.business, customer: message.customer, reply: reply, inReplyTo: nil,
            author: message.author, until: message.until, attributes: message.attributes)
        let entry = OutboxQueue.Entry(
            id: id, conversation: message.conversation,
            decidedAt: message.receivedAt, isTyping: reply.kind == .typingStart,
            place: .own(record.location), text: text, key: key, requestDigest: message.requestDigest,
            pause: isRetry || message.author?.isPerson == true
                ? nil : pause(before: reply, of: message.business))
        add([entry], isClosed: isClosed)
    }
}

extension Kind {
    /// Whether the message is a typing indicator.
    package var isTyping: Bool { self == .typingStart || self == .typingEnd }
}
