import BalloonJSON
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

        var lease: Lease { Lease(conversation: conversation, pending: pending) }
    }

    /// The number of the next record to be written.
    private(set) var nextRecord: UInt64 = 1
    private(set) var index: MessageIndex
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
    mutating func apply(_ root: JSONValue, record: UInt64, at location: RecordLocation) {
        skip(to: record + 1)
        guard let type = root["type"] else { return }
        if type.equals("message") { return addMessage(root, record: record, at: location) }
        if type.equals("checkpoint") { return applyCheckpoint(root) }
        guard let number = root["of"]?.int, number > 0 else { return }
        let message = UInt64(number)
        if type.equals("resolved") {
            unfinished[message]?.pending.awaitsReference = false
            unfinished[message]?.pending.related.append(location)
        } else if type.equals("outcome") {
            unfinished[message]?.pending.isDecided = true
            unfinished[message]?.pending.related.append(location)
            let kind = kind(root)
            unfinished[message]?.kind = kind
        } else if type.equals("reply") {
            unfinished[message]?.pending.related.append(location)
        } else if type.equals("attempt"), let attempt = root["attempt"]?.int {
            unfinished[message]?.pending.note(root, attempt: attempt)
        } else if type.equals("finished"), var finished = unfinished.removeValue(forKey: message) {
            finished.kind = kind(root) ?? finished.kind
            finished.original = root["original"]?.string.map { MessageID($0) }
            unsynced[record] = finished
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

    private mutating func addMessage(_ root: JSONValue, record: UInt64, at location: RecordLocation) {
        guard let business = root["business"]?.string, let customer = root["customer"]?.string,
            let id = root["id"]?.string
        else { return }
        let at = root["at"]?.string.flatMap { Timestamp(rfc3339: $0) } ?? .now()
        let key = MessageKey(business: BusinessID(business), id: MessageID(id))
        // Of two with an identity the first counts. But one that came when the first was forgotten was taken for
        // another message, and acknowledged.
        let isReplay = root["replayOf"] != nil
        if !isReplay, let first = index.recover(key, record: record, at: at), unfinished[first] != nil {
            return
        }
        let outbound = root["outbound"]?.string.map { Kind(rawValue: $0) ?? .unrecognized }
        unfinished[record] = Recovered(
            conversation: ConversationKey(business: BusinessID(business), customer: CustomerID(customer)),
            pending: PendingDelivery(
                record: record, location: location, awaitsReference: root["reference"]?.bool ?? false,
                isReplay: isReplay, isOutbound: outbound != nil, isDecided: outbound != nil,
                isRecovered: true),
            kind: outbound)
    }

    private mutating func applyCheckpoint(_ root: JSONValue) {
        guard let through = root["through"]?.int, through > 0 else { return }
        unsynced = unsynced.filter { $0.key > UInt64(through) }
    }

    private func kind(_ root: JSONValue) -> Kind? { root["kind"]?.string.flatMap(Kind.init) }
}

extension PendingDelivery {
    /// Takes in a record of type attempt.
    fileprivate mutating func note(_ root: JSONValue, attempt: Int) {
        self.attempt = Int32(clamping: attempt)
        if root["crashed"]?.bool ?? false { crashes = UInt8(clamping: Int(crashes) + 1) }
        if root["parked"]?.bool ?? false {
            isParked = true
            due = root["next"]?.string.flatMap { Timestamp(rfc3339: $0) }
        }
    }
}
