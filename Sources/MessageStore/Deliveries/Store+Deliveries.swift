import BalloonPOSIX
package import BusinessMessages
import Logging
import Synchronization

extension Store {
    /// Waits for a message whose payload must be downloaded; nil when the store closes or the task is
    /// cancelled.
    ///
    /// Messages are leased without regard to the order of their conversations, and each only once in a
    /// process. Several may be leased at the same time, within the limits of
    /// ``limitReferences(slots:share:)``. A lease ends with `release(_:)`.
    package func nextReference() async -> UnrecordedMessage? {
        while let lease = await scheduler.nextReference() {
            if lease.pending.isRecovered, calls.begin(lease.pending, .records) { await calls.keep() }
            do throws(StoreError) {
                return UnrecordedMessage(texts: try text(of: lease), lease: lease)
            } catch {
                calls.end(lease.pending.record)
                scheduler.releaseReference(of: lease.conversation.business)
                if isPassing(error, lease) {
                    scheduler.releaseReference(lease)
                } else {
                    scheduler.countUnreadable()
                }
            }
        }
        return nil
    }

    /// Releases the slot of a leased reference; must be called once for each, whether it was resolved or not.
    package func release(_ reference: UnrecordedMessage) {
        if reference.lease.pending.isRecovered,
            scheduler.awaitsReference(reference.record, of: reference.lease.conversation)
        {
            calls.end(reference.record)
        }
        scheduler.releaseReference(of: reference.business)
    }

    /// Sets how many references may be leased at the same time, and the share of these that each business may
    /// always use.
    ///
    /// The defaults are 16 and 4. See ``FairQueue``.
    package func limitReferences(slots: Int, share: Int) {
        scheduler.limitReferences(slots: slots, share: share)
    }

    /// Limits the unfinished messages of each business; `others` is the limit of businesses that `quotas`
    /// lacks.
    ///
    /// Further messages of a business at its limit are refused with ``StoreError/quotaReached(maximum:)``.
    /// Without this call there is no limit.
    package func limitPending(_ quotas: [BusinessID: Int], others: Int) {
        scheduler.quotas.set(quotas, others: others)
    }

    /// Journals the result of a reference; then the message can be recorded.
    package func resolve(_ reference: UnrecordedMessage, _ resolution: Resolution) async throws {
        let key = reference.lease.conversation
        guard scheduler.awaitsReference(reference.record, of: key) else {
            throw StoreError.alreadyResolved(record: reference.record)
        }
        let act = resolution.act(of: key.business, reference.customer)
        _ = try await journal.append(
            JournalBody.resolved(of: reference.record, resolution, act: act, at: .now()))
        // The line in the file of calls must be removed before the message can be recorded.
        if reference.lease.pending.isRecovered { calls.end(reference.record) }
        scheduler.change(key) { $0.resolve(reference.record, act, of: key) }
    }

    /// Starts recording messages with `record`, each conversation in order, on the executor of the
    /// conversation's partition.
    ///
    /// `record` decides the kind, calls `write(_:as:repeating:event:)` and returns its result. It may wait
    /// only for the conversation's file. After an error, `record` is called again for the same message, after
    /// growing pauses.
    package func startRecording(_ record: @escaping @Sendable (UnrecordedMessage) throws -> RecordedLine) {
        scheduler.startRecording { [weak self] lease, isAlone in
            guard let self else { throw StoreError.closed }
            return try self.record(lease, isAlone: isAlone, record)
        }
    }

    private func record(
        _ lease: Lease, isAlone: Bool, _ record: (UnrecordedMessage) throws -> RecordedLine
    ) throws -> RecordedLine {
        // Only a message of an earlier process can crash every start, so only such a message needs a line in
        // the file of calls.
        if lease.pending.isRecovered, calls.begin(lease.pending, isAlone ? .recordsAlone : .records) {
            calls.keepAtOnce()
        }
        defer { if lease.pending.isRecovered { calls.end(lease.pending.record) } }
        let texts: MessageRecords
        do throws(StoreError) { texts = try text(of: lease) } catch {
            if lease.pending.releases == 0, !isPassing(error, lease) { scheduler.countUnreadable() }
            throw error
        }
        do { return try record(UnrecordedMessage(texts: texts, lease: lease)) } catch {
            if lease.pending.releases == 0, !Self.isReportedOnce(error) {
                logger.error(
                    "a message could not be recorded; retrying",
                    metadata: ["record": "\(lease.pending.record)", "error": "\(error)"])
            }
            throw error
        }
    }

    /// Whether no log line is needed for a single message: the circuit breaker reports a full disk, and a
    /// stop is no error.
    private static func isReportedOnce(_ error: any Error) -> Bool {
        switch error as? StoreError {
        case .closed: true
        case .unavailable(_, let reason): reason.isDiskWide
        default: false
        }
    }

    /// Appends a message's line to its conversation's file, once even when called repeatedly.
    ///
    /// Must run on the partition's executor. Returns when the operating system has the line; after a power
    /// failure, the journal can restore it. When only this file refuses the line, it stays in the journal
    /// alone after several attempts, so that the conversation is not blocked forever.
    ///
    /// `original` is the recent message whose choice this one repeats, if any. `event` is cached for the
    /// delivery if the message is. A message that begins a new conversation, for example after a `silence`
    /// of both sides, gets a record that says so before the line; without `silence` no message gets one.
    package func write(
        _ message: UnrecordedMessage, as kind: Kind, repeating original: MessageID? = nil,
        event: InboundEvent? = nil, silence: Duration? = nil
    ) throws -> RecordedLine {
        let lease = message.lease
        var begins = lease.pending.begins
        if let silence, original == nil, begins == nil {
            begins = try beginning(with: message, after: silence)
        }
        let entry = ConversationEntry(
            conversation: lease.conversation, record: lease.pending.record, at: message.receivedAt,
            id: message.id, kind: kind, message: message.message,
            author: message.isInternal ? message.author : nil, repeats: original,
            capabilities: message.attributes.capabilityList, isInternal: message.isInternal)
        // Written before the line, so that a repetition after a crash finds the change applied.
        if message.isInternal {
            try states.apply(message.message, recordedBy: message.record, of: lease.conversation)
        }
        do throws(StoreError) { try write(entry, mightBeThere: lease.pending.isRecovered) } catch {
            guard lease.pending.releases >= Self.maximumRecordings,
                case .unavailable(_, let reason) = error,
                !reason.isDiskWide
            else { throw error }
            checkpointer.distrust(RefusedLines(record: lease.pending.record))
        }
        return RecordedLine(
            recording: .written(kind, repeats: original),
            event: lease.pending.text == nil ? nil : event.map(DecodedEvent.init), begins: begins)
    }

    /// Returns the conversation that a message begins, after adding it to the journal; nil when it continues one.
    private func beginning(
        with message: UnrecordedMessage, after silence: Duration
    ) throws(StoreError) -> NewConversation? {
        let (pending, key) = (message.lease.pending, message.lease.conversation)
        if pending.act != .writes { return nil }
        // After a crash the file may have the lines of this message and of its answers.
        let contact = try conversations.contact(key, before: pending.isRecovered ? message.record : nil)
        guard
            let begins = contact.next(
                at: message.receivedAt, isReopened: isReopened(by: message.record, key), silence: silence)
        else { return nil }
        // The record needs no sync of its own: without it, a restart decides the same from the same lines.
        try journal.append(JournalBody.began(of: message.record, begins, at: .now()), for: .none)
        return begins
    }

    /// How often recording is retried for a line that only its file refuses; then the line stays in the
    /// journal.
    private static let maximumRecordings: UInt8 = 5

    /// Waits for the next delivery of a business and leases it; nil when the store closes or the task is
    /// cancelled.
    ///
    /// Each conversation is first in, first out, with at most one leased delivery; conversations run in
    /// parallel. The message's line is in its conversation's file before the delivery is leased.
    package func nextDelivery(for business: BusinessID) async -> Delivery? {
        while let lease = await scheduler.next(for: business) {
            if held.keeps(lease) { continue }
            if begin(lease) { await calls.keep() }
            if let delivery = delivery(lease) { return delivery }
        }
        return nil
    }

    /// Leases the next delivery of a business, if one is ready and another machine need not know of it.
    package func readyDelivery(for business: BusinessID) -> Delivery? {
        if calls.keepsRecovered || scheduler.holds.contains(.suspects) { return nil }
        while let lease = scheduler.nextReady(for: business) {
            if held.keeps(lease) { continue }
            _ = begin(lease)
            if let delivery = delivery(lease) { return delivery }
        }
        return nil
    }

    /// Writes the line of a leased delivery before its message is read, so that a crash while reading is counted.
    private func begin(_ lease: Lease) -> Bool {
        let isAlone = lease.pending.isSuspect && scheduler.isAlone(lease.pending.record)
        return calls.begin(lease.pending, isAlone ? .deliversAlone : .delivers)
    }

    /// Reads the records of a leased delivery.
    ///
    /// When they are unreadable, releases the lease or blocks the conversation, and returns nil.
    private func delivery(_ lease: Lease) -> Delivery? {
        let record = lease.pending.record
        do throws(StoreError) {
            let afterPerson = journalState.withAssignments { $0.afterPerson(record, of: lease.conversation) }
            return Delivery(lease: lease, texts: try text(of: lease), afterPerson: afterPerson)
        } catch {
            calls.end(record)
            if isPassing(error, lease) {
                _ = scheduler.release(record, of: lease.conversation)
            } else {
                scheduler.markUnreadable(lease)
            }
            return nil
        }
    }

    /// Records that a leased delivery waits for its handler: until ``beginCall(_:)`` an operator may drop it.
    package func beginWaitingForHandler(_ delivery: Delivery) {
        scheduler.update(delivery.record, of: delivery.conversation) { $0.waitsForHandler = true }
    }

    /// Records that the handler of a delivery is called now; false when an operator ended the delivery while it
    /// waited.
    package func beginCall(_ delivery: Delivery) -> Bool {
        scheduler.update(delivery.record, of: delivery.conversation) { $0.beginCall() }
    }

    /// Records that a suspect of a crash waits, so that the next suspect runs; does nothing for other
    /// deliveries.
    ///
    /// A crash during the wait is not counted for the suspect. With `isOutside`, it waits for something outside
    /// this process, which cannot crash this process: it then holds no other delivery back any more. Other
    /// suspects do for at most ``StoreConfiguration/suspectPatience``.
    package func suspend(_ delivery: Delivery, isOutside: Bool) {
        guard delivery.isSuspect else { return }
        scheduler.suspend(delivery.record, isOutside: isOutside) {
            calls.endAlone(delivery.record)
        }
    }

    /// Waits until a suspect of a crash may continue: alone, or beside others when none is held back.
    package func resume(_ delivery: Delivery) async {
        guard delivery.isSuspect else { return }
        let isAlone = await scheduler.resume(delivery.record)
        // An operator may have ended the delivery during the wait: its turn must not hold others back.
        guard scheduler.leased(delivery.record, of: delivery.conversation) != nil else {
            return scheduler.endTurn(of: delivery.record)
        }
        if isAlone { await calls.beginAlone(delivery.record) }
    }

    /// Lets no suspect of a business that is not served hold other deliveries back, because no handler will
    /// get it.
    package func keepSuspects(of isServed: (BusinessID) -> Bool) { scheduler.keepSuspects(of: isServed) }

    /// Returns the texts of a message, from the cache or from the journal.
    private func text(of lease: Lease) throws(StoreError) -> MessageRecords {
        if let text = lease.pending.text { return MessageRecords(text.message) }
        guard let state = journalState.message(lease.pending.record) else {
            throw .unknownRecord(lease.pending.record)
        }
        return try MessageRecords(state, from: reader)
    }

    /// Stores the conversation state that an earlier attempt's decision has, and queues the decision's
    /// replies.
    ///
    /// Must be called before the delivery is finished; may be called repeatedly.
    package func rememberDecision(of delivery: Delivery) async throws {
        _ = try leased(delivery)
        guard let decided = delivery.decided else { return }
        try await remember(decided.state, decidedBy: delivery.decision, in: delivery.conversation)
        try enqueueReplies(decided, of: delivery)
    }

    /// Queues the replies of a decided outcome, once.
    ///
    /// Replies that an earlier process decided were queued when the store was opened.
    private func enqueueReplies(_ outcome: DecidedOutcome, of delivery: Delivery) throws {
        let pending = try leased(delivery)
        guard let (decision, at) = pending.unqueued else { return }
        scheduler.update(delivery.record, of: delivery.conversation) { $0.unqueued = nil }
        enqueue(outcome, of: delivery, decision: decision, at: at)
    }

    /// The number of a business's messages whose delivery has not ended.
    package func pendingCount(of business: BusinessID) -> Int { scheduler.quotas.count(of: business) }

    /// Journals the results of a message's attachments, of its sign-in or of its payment, then appends a line for
    /// them to the conversation.
    ///
    /// Returns when the journal record is on disk and the line is written. A message has only one record of
    /// results, so a message with a sign-in or a payment must have no attachments.
    package func recordResults(
        _ delivery: Delivery, files: [RecordedFile] = [], signIn: RecordedSignIn? = nil,
        payment: RecordedPayment? = nil
    ) async throws {
        let pending = try leased(delivery)
        let now = Timestamp.now()
        _ = try await journal.append(
            JournalBody.files(of: delivery.record, files, signIn: signIn, payment: payment, at: now))
        scheduler.update(delivery.record, of: delivery.conversation) { $0.text = nil }
        guard !pending.isReplay else { return }
        try write(
            ConversationEntry(
                conversation: delivery.conversation, record: delivery.record, at: now, id: delivery.id,
                kind: pending.recording.kind ?? .unrecognized, message: [], files: files,
                signIn: signIn, payment: payment, isFilesOnly: true),
            mightBeThere: pending.isRecovered)
    }

    /// Returns the last lines of a conversation, oldest first; reads only the necessary part of the file.
    ///
    /// Returns at most `maximum` lines with at most `maximumBytes` in total, but always the last line.
    package func recentLines(
        of business: BusinessID, _ customer: CustomerID, maximum: Int, maximumBytes: Int = .max
    ) throws -> [ConversationLine] {
        let key = ConversationKey(business: business, customer: customer)
        return ConversationLine.merging(
            try conversations.partition(of: key).lines(of: key, maximum: maximum, maximumBytes: maximumBytes))
    }

    /// Returns the line of a customer's message in its conversation; nil when the conversation has no such
    /// line.
    ///
    /// Reads the conversation's file backwards, from its end to the line.
    package func inboundLine(
        of id: MessageID, from customer: CustomerID, to business: BusinessID
    ) throws -> ConversationLine? {
        try conversations.end(of: ConversationKey(business: business, customer: customer))?.lastLine(
            with: { $0.field("id", id.rawValue) }
        ) { $0.direction == .inbound && $0.id == id && !$0.isFilesOnly }
    }

    /// Returns the latest `capability-list` of a customer's device; nil when none of the last 1000 lines has
    /// one.
    ///
    /// Reads the conversation's file.
    package func lastCapabilities(of business: BusinessID, _ customer: CustomerID) throws -> String? {
        try last(\.capabilities, of: business, customer)
    }

    /// Returns the latest `locale` of a customer's message; nil when none of the last 1000 lines has one.
    ///
    /// Reads the conversation's file.
    package func lastLocale(of business: BusinessID, _ customer: CustomerID) throws -> String? {
        try last({ $0.direction == .inbound ? $0.message["locale"]?.string : nil }, of: business, customer)
    }

    private func last(
        _ value: (ConversationLine) -> String?, of business: BusinessID, _ customer: CustomerID
    ) throws -> String? {
        for maximum in [20, Self.maximumCapabilityLines] {
            let lines = try recentLines(of: business, customer, maximum: maximum)
            if let found = lines.lazy.reversed().compactMap(value).first { return found }
            if lines.count < maximum { return nil }
        }
        return nil
    }

    private static let maximumCapabilityLines = 1000

    /// Throws when a conversation is quarantined, so that no handler is called without its history.
    package func checkIntact(_ business: BusinessID, _ customer: CustomerID) throws {
        let key = ConversationKey(business: business, customer: customer)
        try conversations.partition(of: key).checkIntact(key)
    }

    /// Journals the handler's decision, with every reply's id and bytes.
    ///
    /// Returns when the record is on disk, the state is stored and the replies are queued.
    ///
    /// Returns false, and stores nothing, when a person has the conversation or it waits for one; the caller
    /// then ends the delivery as ``DeliveryResult/withPerson``. The order of the journal decides: an
    /// assignment counts when its record is earlier. When ``DecidedOutcome/waitsForPerson`` is true, the same
    /// record hands the conversation off.
    ///
    /// Throws ``StoreError/alreadyDecided(record:)`` for a second decision about a delivery.
    @discardableResult
    package func decide(_ delivery: Delivery, _ outcome: DecidedOutcome) async throws -> Bool {
        let key = delivery.conversation
        let pending = try leased(delivery)
        var isFirst = false
        scheduler.update(delivery.record, of: key) {
            isFirst = !$0.isDecided
            $0.isDecided = true
        }
        guard isFirst else { throw StoreError.alreadyDecided(record: delivery.record) }
        calls.end(delivery.record)
        let now = Timestamp.now()
        let written: JournalledRecord?
        do { written = try await append(outcome, of: delivery, pending, at: now) } catch {
            scheduler.update(delivery.record, of: key) { $0.isDecided = false }
            throw error
        }
        guard let record = written else {
            scheduler.update(delivery.record, of: key) { $0.isDecided = false }
            return false
        }
        scheduler.update(delivery.record, of: key) {
            $0.text = nil
            $0.unqueued = (record.location, now)
        }
        try await remember(outcome.state, decidedBy: record.number, in: key)
        // Replies are queued after the state is stored: the handler of the customer's next message must find the
        // state.
        try enqueueReplies(outcome, of: delivery)
        return true
    }

    /// Appends an outcome under the lock of the state, and waits for the disk.
    ///
    /// Returns nil, and appends nothing, when a person has the conversation or it waits for one.
    private func append(
        _ outcome: DecidedOutcome, of delivery: Delivery, _ pending: PendingDelivery, at: Timestamp
    ) async throws -> JournalledRecord? {
        let key = delivery.conversation
        let context = outcome.waitsForPerson ? try await assignmentContext(of: key) : nil
        return try await withCheckedThrowingContinuation { continuation in
            journalState.run(key, endingWatch: context != nil) { [journal, scheduler] table, closes in
                if table.isWithPerson(delivery.record, of: key) {
                    return .done { continuation.resume(returning: nil) }
                }
                do throws(StoreError) {
                    let context = context?.updated(closes, scheduler.closes(key))
                    let handOff = try context.flatMap { context throws(StoreError) in
                        try table.handOff(outcome, of: key, context, at: at)
                    }
                    try journal.append(
                        JournalBody.outcome(
                            of: delivery.record, attempt: delivery.attempt, kind: pending.recording.kind,
                            outcome, handOff: handOff, at: at),
                        for: .completion { continuation.resume(with: $0.map(Optional.some)) })
                    return handOff == nil ? .done {} : .appended()
                } catch {
                    return .done { continuation.resume(throwing: error) }
                }
            }
        }
    }

    /// Releases the lease; the delivery is leased again after the delay.
    ///
    /// The delivery stays first in its conversation, unless `parks` is true or it was parked before. A parked
    /// delivery does not hold back its conversation, and the next delivery reports a gap.
    package func postpone(_ delivery: Delivery, after delay: Duration, parks: Bool = false) {
        let key = delivery.conversation
        let isParked = parks || delivery.isParked
        let now = Timestamp.now()
        calls.end(delivery.record)
        guard scheduler.postpone(delivery.record, of: key, after: delay, parks: isParked) else { return }
        // If the store is closed, appending fails, and only the count of this attempt is lost.
        try? journal.append(
            JournalBody.attempt(
                of: delivery.record, delivery.attempt, at: now, next: now.advanced(by: delay),
                isParked: isParked),
            for: .none)
    }

    /// Releases the lease, and neither counts an attempt nor writes to the journal.
    ///
    /// The caller uses this when the store cannot write, or when the handler is absent. The delivery is
    /// leased again after a pause, which grows to half a minute. The release does not
    /// park it.
    ///
    /// Returns the pause; nil when the delivery is not leased.
    package func release(_ delivery: Delivery) -> Duration? {
        calls.end(delivery.record)
        return scheduler.release(delivery.record, of: delivery.conversation)
    }

    /// Releases the lease because of a transient error, at most `maximum` times for one delivery.
    ///
    /// These releases cost no attempt. After `maximum` of them the result is nil, and the caller must count an
    /// attempt.
    package func release(_ delivery: Delivery, atMost maximum: UInt8) -> Duration? {
        var mayPass = false
        scheduler.update(delivery.record, of: delivery.conversation) {
            mayPass = $0.transientReleases < maximum
            if mayPass { $0.transientReleases += 1 }
        }
        return mayPass ? release(delivery) : nil
    }

    /// Ends a delivery; the next one of its conversation can be leased.
    ///
    /// Does not wait for the disk: after a crash the delivery may be leased again, together with its outcome
    /// if one was decided. While a person has the conversation or it waits for one, an undecided delivery
    /// ends as ``DeliveryResult/withPerson`` and never as a dead letter.
    package func finish(_ delivery: Delivery, result: DeliveryResult) async throws {
        let pending = try leased(delivery)
        let isWithPerson =
            !pending.isDecided
            && journalState.withAssignments { $0.isWithPerson(delivery.record, of: delivery.conversation) }
        let result = (isWithPerson ? result.withPerson : result).end(of: pending)
        calls.end(delivery.record)
        // The record is appended before the delivery leaves the queues. A caller that checks the queues and
        // then the journal therefore finds the delivery in one of them.
        try journal.append(
            JournalBody.finished(
                of: delivery.record, kind: pending.recording.kind, result,
                attempts: pending.tries > 0 ? Int(pending.tries) : nil, at: .now()),
            for: .none)
        // The next delivery may be leased before the record above is durable.
        if !journalState.isUnassigned, result.status.reachedHandler {
            journalState.withState { $0.assignments.finish(delivery.record, of: delivery.conversation) }
        }
        _ = scheduler.end(delivery.record, of: delivery.conversation) { _, isLeased in isLeased }
    }

    private func leased(_ delivery: Delivery) throws -> PendingDelivery {
        guard let pending = scheduler.leased(delivery.record, of: delivery.conversation) else {
            throw StoreError.notLeased(record: delivery.record)
        }
        return pending
    }

    func write(_ entry: ConversationEntry, mightBeThere: Bool) throws(StoreError) {
        let resumptionCount = gate.resumptionCount
        do throws(StoreError) {
            try conversations.partition(of: entry.conversation).append(entry, mightBeThere: mightBeThere)
            checkpointer.recordWrite()
            gate.recordWrite()
        } catch {
            checkpointer.recordFailure(of: entry, error)
            gate.recordFailure(error, since: resumptionCount)
            throw error
        }
    }

    /// Whether a message that could not be read may become readable; logs the first error of each message.
    ///
    /// A damaged message never becomes readable.
    private func isPassing(_ error: any Error, _ lease: Lease) -> Bool {
        let metadata: Logger.Metadata = ["record": "\(lease.pending.record)", "error": "\(error)"]
        guard case StoreError.unavailable = error else {
            logger.critical(
                "journalled message is unreadable; its conversation is blocked", metadata: metadata)
            return false
        }
        if lease.pending.releases == 0 {
            logger.error("journalled message is unreadable; retrying", metadata: metadata)
        }
        return true
    }
}

/// The error that stops checkpoints when a conversation's file refused lines that the journal contains.
struct RefusedLines: Error, CustomStringConvertible {
    let record: UInt64

    var description: String { "a conversation's file refused lines of message \(record)" }
}
