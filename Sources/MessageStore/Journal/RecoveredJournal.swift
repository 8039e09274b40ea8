import BalloonPOSIX
import BusinessMessages

/// What the records of a journal add up to, one after the other.
struct RecoveredJournal: Sendable {
    /// A message and what became of it.
    struct Recovered: Sendable {
        let conversation: ConversationKey
        var pending: PendingDelivery
        /// The kind under which it is in its conversation.
        var kind: Kind?
        /// The message that it says once more.
        var original: MessageID?

        init(_ message: JournalRecord.Message, record: UInt64, at location: RecordLocation) {
            conversation = message.conversation
            pending = PendingDelivery(
                record: record, location: location, awaitsReference: message.hasReference,
                isReplay: message.replayOf != nil, isOutbound: message.outboundKind != nil,
                act: message.act, isDecided: message.outboundKind != nil, isRecovered: true)
            kind = message.outboundKind
        }

        var lease: Lease { Lease(conversation: conversation, pending: pending) }
    }

    /// The number of the next record to be written.
    private(set) var nextRecord: UInt64 = 1
    private(set) var index: MessageIndex
    /// Whether a sync of conversations failed after the last checkpoint.
    private(set) var isUnsynced = false
    /// When the latest message came in; nil when there is none.
    private(set) var latestMessageAt: Timestamp?
    /// What each segment is needed for.
    private(set) var ledger = SegmentLedger()
    /// The messages that are not finished, by their records.
    private var unfinished: [UInt64: Recovered] = [:]
    /// The messages that were finished and whose conversation lines may not be on disk, by the record that
    /// says so.
    private var unsynced: [UInt64: Recovered] = [:]

    /// Adds up the records of a store with this configuration.
    init(_ configuration: StoreConfiguration) {
        index = MessageIndex(
            window: configuration.deduplicationWindow,
            maximumCount: configuration.maximumRememberedMessages)
    }

    /// The messages that are not finished.
    var open: [Recovered] { Array(unfinished.values) }

    /// The deliveries that are not finished, in the order of their records.
    var deliveries: [Lease] {
        unfinished.values.map(\.lease).sorted { $0.pending.record < $1.pending.record }
    }

    /// The messages whose conversation lines may be missing, in the order of their records.
    var unwritten: [Recovered] {
        (Array(unsynced.values) + unfinished.values.filter(\.pending.isDecided))
            .filter { $0.kind != nil }
            .sorted { $0.pending.record < $1.pending.record }
    }

    /// Goes past numbers that must not be given out.
    mutating func skip(to record: UInt64) { nextRecord = max(nextRecord, record) }

    /// Takes in a record; types that are not known are kept in the file and have no effect.
    mutating func apply(_ record: JournalRecord, number: UInt64, at location: RecordLocation) {
        skip(to: number + 1)
        switch record {
        case .message(let message): add(message, record: number, at: location)
        case .checkpoint(let through): applyCheckpoint(through)
        case .unsynced: isUnsynced = true
        case .resolved(let message):
            unfinished[message]?.pending.awaitsReference = false
            unfinished[message]?.pending.related.append(location)
        case .outcome(let message, let kind):
            unfinished[message]?.pending.isDecided = true
            unfinished[message]?.pending.related.append(location)
            unfinished[message]?.kind = kind
        case .reply(let message), .files(let message): unfinished[message]?.pending.related.append(location)
        case .attempt(let attempt): unfinished[attempt.of]?.pending.note(attempt)
        case .finished(let finished): finish(finished, by: number)
        case .dropped(let message): ledger.noteDecision(about: message)
        case .carried(let message): ledger.noteCarried(message, in: location.segment)
        case .segment(let at): ledger.begin(location.segment, at: at)
        case .other: break
        }
    }

    /// Counts a crash for those of the deliveries that were not decided; returns the records that say so.
    mutating func countCrashes(of deliveries: Set<UInt64>) -> [JournalEntry] {
        deliveries.sorted().compactMap { record in
            guard var found = unfinished[record], !found.pending.isDecided else { return nil }
            found.pending.attempt += 1
            found.pending.crashes = UInt8(clamping: Int(found.pending.crashes) + 1)
            unfinished[record] = found
            let body = JournalBody.crashedAttempt(of: record, Int(found.pending.attempt), at: .now())
            return JournalEntry(body: body, waiter: .nobody)
        }
    }

    private mutating func add(
        _ message: JournalRecord.Message, record: UInt64, at location: RecordLocation
    ) {
        let at = message.at ?? .now()
        latestMessageAt = max(latestMessageAt ?? at, at)
        ledger.begin(location.segment, at: at)
        // Of two with an identity the first counts. But one that came when the first was forgotten was taken for
        // another message, and acknowledged.
        if let replayed = message.replayOf {
            ledger.noteDecision(about: replayed)
        } else if let first = index.recover(message.key, record: record, at: at), unfinished[first] != nil {
            return
        }
        ledger.noteMessage(in: location.segment)
        unfinished[record] = Recovered(message, record: record, at: location)
    }

    private mutating func finish(_ finished: JournalRecord.Finished, by record: UInt64) {
        guard var message = unfinished.removeValue(forKey: finished.of) else { return }
        message.kind = finished.kind ?? message.kind
        message.original = finished.original
        unsynced[record] = message
        ledger.note(
            EndedDelivery(
                record: finished.of, segment: message.pending.location.segment,
                isDeadLetter: finished.result.isDeadLetter), by: record)
    }

    private mutating func applyCheckpoint(_ through: UInt64) {
        isUnsynced = false
        ledger.noteCheckpoint(through: through)
        unsynced = unsynced.filter { $0.key > through }
    }
}

extension PendingDelivery {
    /// Takes in a record of type attempt.
    fileprivate mutating func note(_ attempt: JournalRecord.Attempt) {
        self.attempt = Int32(clamping: attempt.number)
        if attempt.isCrash { crashes = UInt8(clamping: Int(crashes) + 1) }
        if attempt.isParked {
            isParked = true
            due = attempt.next
        }
    }
}
