import BalloonPOSIX
import Dispatch
import Synchronization

/// Deduplicates messages: journals the first copy, and answers the senders of later copies without a second
/// record.
final class Deduplicator: Sendable {
    private let index: Mutex<MessageIndex>
    private let scheduler: DeliveryScheduler
    private let outbox: Outbox
    private let memory: MemoryBudget
    private let maximumPendingDeliveries: Atomic<Int>
    private let pace: AnswerPace
    private let timers = DispatchQueue(label: "balloon.pace")

    init(
        index: MessageIndex, scheduler: DeliveryScheduler, outbox: Outbox, memory: MemoryBudget,
        maximumPendingDeliveries: Int, pace: AnswerPace
    ) {
        self.outbox = outbox
        self.memory = memory
        self.pace = pace
        self.index = Mutex(index)
        self.scheduler = scheduler
        self.maximumPendingDeliveries = Atomic(maximumPendingDeliveries)
    }

    /// Applies other limits to later messages.
    func apply(_ configuration: StoreConfiguration) {
        index.withLock {
            $0.apply(
                window: configuration.deduplicationWindow,
                maximumCount: configuration.maximumRememberedMessages)
        }
        maximumPendingDeliveries.store(configuration.maximumPendingDeliveries, ordering: .relaxed)
    }

    /// A copy of the index at this moment.
    var indexCopy: MessageIndex { index.withLock { $0 } }

    /// Replaces tables of the index with the files to which a copy of it was moved.
    func adopt(_ files: [UInt64: KnownMessages]) { index.withLock { $0.adopt(files) } }

    /// The number of known messages.
    var count: Int { index.withLock { $0.count } }

    /// Returns the record of a message; nil when the message is unknown or not on disk yet.
    ///
    /// The index forgets a message after the deduplication window, or earlier when many others arrive. The
    /// outbox still knows a message that is queued to be sent.
    func record(of key: MessageKey) -> UInt64? {
        index.withLock { $0.record(of: key) } ?? outbox.record(of: key)
    }

    /// Whether the message is on disk, or waits for its sync.
    func holds(_ message: ReceivedMessage) -> Bool {
        let key = message.key
        return index.withLock { $0.knows(key) } || isQueued(message, key)
    }

    /// Whether this is a proactive message, from the business to the customer, that waits in the outbox.
    private func isQueued(_ message: ReceivedMessage, _ key: MessageKey) -> Bool {
        message.outboundKind != nil && outbox.record(of: key) != nil
    }

    /// Journals a message unless it is known; returns whether it was appended.
    ///
    /// With a `sequence`, the number of the conversation's next line, the same record assigns the conversation
    /// to the message's author.
    @discardableResult
    func append(
        _ message: ReceivedMessage, claimedAt sequence: Int? = nil,
        to journal: Journal, isPrompt: Bool, completion: @escaping AppendCompletion
    ) -> Bool {
        let (key, conversation) = (message.key, message.conversation)
        let record = JournalBody.message(message, key, claimedAt: sequence, in: conversation)
        let accepted = AcceptedMessage(key: key, message: message, conversation: conversation)
        // Claim and append under one lock, so that no second copy arrives between the claim and a refusal.
        let (answer, isAppended) = index.withLock { index -> (AppendResult?, Bool) in
            switch index.claim(key, at: message.receivedAt, completion) {
            case .durable: return (.duplicate, false)
            case .waiting: return (nil, false)
            case .absent where isQueued(message, key):
                _ = index.forget(key)
                return (.duplicate, false)
            case .absent:
                do throws(StoreError) {
                    try checkLimits(of: message)
                    try journal.append(
                        JournalEntry(record: record, waiter: .sender(accepted, completion)),
                        isPrompt: isPrompt)
                    return (nil, true)
                } catch {
                    _ = index.forget(key)
                    return (.failed(error), false)
                }
            }
        }
        if let answer { completion(answer) }
        return isAppended
    }

    /// Journals the customers' messages that are not known, in one batch.
    func append(
        taken messages: [ReceivedMessage], to journal: Journal, completion: @escaping AppendCompletion
    ) {
        let accepted = messages.map {
            AcceptedMessage(key: $0.key, message: $0, conversation: $0.conversation)
        }
        var (entries, duplicates) = ([JournalEntry](), 0)
        let failure = index.withLock { index -> StoreError? in
            for one in accepted {
                switch index.claim(one.key, at: one.message.receivedAt, completion) {
                case .durable: duplicates += 1
                case .waiting: break
                case .absent:
                    entries.append(
                        JournalEntry(
                            record: JournalBody.message(one.message, one.key, in: one.conversation),
                            waiter: .sender(one, completion)))
                }
            }
            guard let first = entries.first else { return nil }
            do throws(StoreError) { try journal.append(first, with: Array(entries.dropFirst())) } catch {
                return error
            }
            return nil
        }
        if let failure { forget(entries, failure) }
        for _ in 0..<duplicates { completion(.duplicate) }
    }

    /// Throws when too many messages are unfinished.
    ///
    /// Messages that wait for their sync are not counted here; the journal limits their bytes.
    func checkLimits(of message: ReceivedMessage) throws(StoreError) {
        let maximum = maximumPendingDeliveries.load(ordering: .relaxed)
        if scheduler.pendingCount >= maximum { throw .tooManyPending(maximum: maximum) }
        if let quota = reachedQuota(of: message) { throw .quotaReached(maximum: quota) }
    }

    /// Returns the quota of the message's business if it has as many unfinished messages; otherwise nil.
    ///
    /// A handler or a program that sends in a loop would fill memory and disk for all businesses. A person's message,
    /// and one of the server itself, is never refused.
    private func reachedQuota(of message: ReceivedMessage) -> Int? {
        if message.outboundKind == nil { return scheduler.quotas.reached(by: message.business) }
        guard [.handler, .program].contains(message.author) else { return nil }
        let quota = scheduler.quotas.quota(of: message.business)
        return outbox.count(of: message.business) >= quota ? quota : nil
    }

    /// Reports the result of a batch to all callers that wait for it; runs on the journal's queue.
    func settle(_ entries: [JournalEntry], _ result: Journal.BatchResult) {
        switch result {
        case .durable(let records): store(entries, records)
        case .failed(let error): forget(entries, error)
        }
    }

    private func store(_ entries: [JournalEntry], _ records: [JournalledRecord]) {
        var deliveries: [Lease] = []
        deliveries.reserveCapacity(entries.count)
        var proactive: [(AcceptedMessage, JournalledRecord)] = []
        var twins: [AppendCompletion] = []
        index.withLock { index in
            for (position, entry) in entries.enumerated() {
                guard case .sender(let message, _) = entry.waiter else { continue }
                let record = records[position]
                if let waiting = index.store(message.key, record: record.number) {
                    twins.append(contentsOf: waiting)
                }
                guard message.message.outboundKind == nil else {
                    proactive.append((message, record))
                    continue
                }
                var pending = PendingDelivery(
                    record, awaitsReference: message.message.hasPayloadReference, act: message.message.act)
                pending.text = memory.keep(message.message)
                deliveries.append(Lease(conversation: message.conversation, pending: pending))
            }
        }
        // The scheduler and the outbox get the messages before the senders get their answers, so that the
        // statistics include every acknowledged message. This delays the answers by microseconds.
        let queued = outbox.record(deliveries)
        let unfinished = scheduler.add(deliveries)
        let now = SystemClock.nanoseconds()
        for (message, record) in proactive {
            outbox.add(
                message.message, message.key, as: record, isClosed: scheduler.closes(message.conversation))
        }
        var told = 0
        var paced: [AppendCompletion] = []
        var pause = Duration.zero
        for (position, entry) in entries.enumerated() {
            switch entry.waiter {
            case .sender(let message, let completion):
                guard message.message.outboundKind == nil else {
                    completion(.stored)
                    continue
                }
                let own = pace.pause(behind: unfinished[told], queued?[told] ?? Backlog(), at: now)
                told += 1
                if own == .zero {
                    completion(.stored)
                } else {
                    paced.append(completion)
                    pause = max(pause, own)
                }
            case .completion(let completion): completion(.success(records[position]))
            case .several(let count, let completion):
                completion(.success(Array(records[position..<position + count])))
            case .same, .none: break
            }
        }
        for completion in twins { completion(.duplicate) }
        if !paced.isEmpty {
            timers.asyncAfter(deadline: .now() + pause.dispatchInterval) { [paced] in
                for completion in paced { completion(.stored) }
            }
        }
    }

    private func forget(_ entries: [JournalEntry], _ error: StoreError) {
        var twins: [AppendCompletion] = []
        index.withLock { index in
            for entry in entries {
                guard case .sender(let message, _) = entry.waiter else { continue }
                if let waiting = index.forget(message.key) { twins.append(contentsOf: waiting) }
            }
        }
        for entry in entries {
            switch entry.waiter {
            case .sender(_, let completion): completion(.failed(error))
            case .completion(let completion): completion(.failure(error))
            case .several(_, let completion): completion(.failure(error))
            case .same, .none: break
            }
        }
        for completion in twins { completion(.failed(error)) }
    }
}
