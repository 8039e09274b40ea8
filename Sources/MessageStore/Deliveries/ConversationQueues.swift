import BalloonPOSIX
import BusinessMessages

/// The unfinished messages of some conversations: one list for each conversation, in the order of arrival.
///
/// ```
///   parked   parked | leased   recorded   recorded   unrecorded   awaitsReference
///   ─────────────── │ ──────────────────────────────────────────────────────────
///   outside the     │ first recorded one after another, then delivered one after
///   order, each due │ another; recording does not wait for deliveries
///   at its time     │
/// ```
///
/// A message in `awaitsReference` waits for the content that it names.
///
/// A value without side effects. Each change returns whether a delivery of the conversation became leasable,
/// or a message became recordable.
struct ConversationQueues: Sendable {
    /// The steps that a change made possible.
    struct Progress: OptionSet, Sendable {
        /// A delivery of the conversation can be leased.
        static let deliverable = Progress(rawValue: 1)
        /// A message of the conversation can be recorded.
        static let recordable = Progress(rawValue: 2)
        let rawValue: UInt8
    }

    private var conversations: [ConversationKey: Conversation] = [:]

    fileprivate struct Conversation {
        var pending = Deque<PendingDelivery>()
        /// The number of recorded messages at the front of `pending`.
        var recordedCount = 0
        /// Deliveries that wait for their due time outside the conversation's order.
        var parked: [PendingDelivery] = []
        /// Parked deliveries that are due, but could not be leased yet because another delivery was leased or
        /// postponed.
        var due = Deque<PendingDelivery>()
        var head = Head.idle
        var recording = Recording.idle
        /// Whether a delivery was parked or removed, and no later delivery of the conversation was leased
        /// since.
        var hasGap = false
    }

    /// The state of the first delivery in `pending`.
    fileprivate enum Head {
        /// The conversation has no delivery that may be leased.
        case idle
        /// The delivery waits to be leased.
        case ready
        /// The delivery is leased.
        case leased
        /// The first delivery was released, and its retry is not due yet.
        case postponed
        /// The records of the first delivery are unreadable, which blocks the conversation.
        case unreadable
    }

    /// The state of the first unrecorded message.
    fileprivate enum Recording {
        /// No message may be recorded: all are recorded, or the first unrecorded one waits for its payload.
        case idle
        /// The conversation waits in the list of recordable conversations, or its message is being recorded.
        case scheduled
        /// Recording failed, and its retry is not due yet.
        case postponed
    }

    /// Adds a message at the end of its conversation.
    mutating func add(_ pending: PendingDelivery, to key: ConversationKey) -> Progress {
        conversations[key, default: Conversation()].add(pending)
        return advance(key)
    }

    /// Leases the first delivery of a deliverable conversation.
    mutating func lease(_ key: ConversationKey) -> Lease? {
        withConversation(key) { $0.lease(key) }.flatMap { $0 }
    }

    /// Returns the delivery with this record if it is leased; otherwise nil.
    func leased(_ record: UInt64, of key: ConversationKey) -> PendingDelivery? {
        guard let index = conversations.index(forKey: key), conversations.values[index].leases(record) else {
            return nil
        }
        return conversations.values[index].pending[0]
    }

    /// Whether the message of a conversation is unfinished, and its outcome is not decided.
    func isUndecided(_ record: UInt64, of key: ConversationKey) -> Bool {
        conversations[key]?.delivery(record)?.isDecided == false
    }

    /// Whether the next delivery to lease is a suspect.
    func isSuspectNext(of key: ConversationKey) -> Bool {
        conversations[key]?.pending.first?.isSuspect ?? false
    }

    /// All messages that are not finished.
    var all: [Lease] {
        conversations.flatMap { key, conversation in
            (Array(conversation.pending) + conversation.parked + conversation.due).map {
                Lease(conversation: key, pending: $0)
            }
        }
    }

    /// Changes the delivery with this record if it is leased; otherwise returns false.
    mutating func update(
        _ record: UInt64, of key: ConversationKey, _ change: (inout PendingDelivery) -> Void
    ) -> Bool {
        withConversation(key) { conversation in
            guard conversation.leases(record) else { return false }
            change(&conversation.pending[0])
            return true
        } ?? false
    }

    /// Ends a message's wait for its payload; another record has the payload or the failure.
    mutating func resolve(_ record: UInt64, _ act: ReceivedMessage.Act, of key: ConversationKey) -> Progress {
        withConversation(key) { conversation in
            guard let index = conversation.index(of: record), conversation.pending[index].awaitsReference
            else { return }
            conversation.pending[index].awaitsReference = false
            conversation.pending[index].act = act
            conversation.pending[index].text = nil
        }
        return advance(key)
    }

    /// Whether a message's reference is unresolved.
    func awaitsReference(_ record: UInt64, of key: ConversationKey) -> Bool {
        guard let found = conversations[key], let index = found.index(of: record) else { return false }
        return found.pending[index].awaitsReference
    }

    /// Returns the conversation's first message without a line in the conversation's file.
    ///
    /// Returns nil when every message has its line, or when that first message waits for its payload.
    func nextToRecord(of key: ConversationKey) -> Lease? {
        guard let conversation = conversations[key], let index = conversation.firstUnrecorded,
            !conversation.pending[index].awaitsReference
        else { return nil }
        return Lease(conversation: key, pending: conversation.pending[index])
    }

    /// The conversations with a message to be recorded alone, if their first unrecorded message can be
    /// recorded now.
    var withUnrecordedSuspects: [ConversationKey] {
        conversations.keys.filter { nextSuspectToRecord(of: $0) != nil }
    }

    /// Returns the first unrecorded message if it, or an unrecorded message after it, must be recorded alone.
    ///
    /// Returns nil otherwise, and when the first unrecorded message waits for its payload.
    func nextSuspectToRecord(of key: ConversationKey) -> Lease? {
        guard conversations[key]?.hasUnrecordedSuspect == true else { return nil }
        return nextToRecord(of: key)
    }

    /// Marks the first unrecorded message of a conversation as recorded.
    ///
    /// Returns the message if it is parked: it then waits outside the conversation's order.
    mutating func record(
        _ record: UInt64, of key: ConversationKey, as line: RecordedLine
    ) -> (parked: PendingDelivery?, Progress) {
        let parked = withConversation(key) { $0.record(record, as: line) }.flatMap { $0 }
        return (parked, advance(key))
    }

    /// Leaves a message unrecorded until ``resumeRecording(of:)``; returns how often it was
    /// postponed before.
    mutating func postponeRecording(of key: ConversationKey) -> UInt8 {
        withConversation(key) { conversation in
            conversation.recording = .postponed
            guard let index = conversation.firstUnrecorded else { return 0 }
            let times = conversation.pending[index].releases
            conversation.pending[index].releases = times == .max ? .max : times + 1
            return times
        } ?? 0
    }

    /// Allows a postponed recording to be retried; returns the steps that became possible.
    mutating func resumeRecording(of key: ConversationKey) -> Progress {
        withConversation(key) { if $0.recording == .postponed { $0.recording = .idle } }
        return advance(key)
    }

    /// Returns whether the conversation will be closed, according to its last unfinished message that writes
    /// or closes.
    ///
    /// Returns nil when no unfinished message writes to the conversation or closes it.
    func closes(_ key: ConversationKey) -> Bool? {
        guard let pending = conversations[key]?.pending else { return nil }
        let last = pending.lastIndex { $0.act.opensOrCloses }
        return last.map { pending[$0].act == .closes }
    }

    /// Ends a lease until ``resume(_:of:)``; with `parks`, the delivery leaves its conversation's order until then.
    ///
    /// Returns false when the delivery is not leased.
    mutating func postpone(
        _ record: UInt64, of key: ConversationKey, parks: Bool
    ) -> (isPostponed: Bool, Progress) {
        guard leased(record, of: key) != nil else { return (false, []) }
        withConversation(key) { if parks { $0.park() } else { $0.head = .postponed } }
        return (true, advance(key))
    }

    /// Allows leasing a postponed or parked delivery again; returns the steps that became possible.
    mutating func resume(_ record: UInt64, of key: ConversationKey) -> Progress {
        withConversation(key) { conversation in
            if conversation.makeDue(record) { return }
            if conversation.head == .postponed, conversation.pending.first?.record == record {
                conversation.head = .idle
            }
        }
        return advance(key)
    }

    /// Allows leasing the postponed and parked deliveries of a conversation now.
    mutating func resumeAll(of key: ConversationKey) -> Progress {
        withConversation(key) { conversation in
            for record in conversation.parked.map(\.record) { _ = conversation.makeDue(record) }
            if conversation.head == .postponed { conversation.head = .idle }
        }
        return advance(key)
    }

    /// Blocks a conversation whose leased delivery is unreadable, until a restart.
    mutating func markUnreadable(_ key: ConversationKey) { withConversation(key) { $0.head = .unreadable } }

    /// Removes a message; nil when it is absent, or when `mayEnd`, which gets whether it is leased, returns false.
    mutating func remove(
        _ record: UInt64, of key: ConversationKey, where mayEnd: (PendingDelivery, _ isLeased: Bool) -> Bool
    ) -> (removed: (delivery: PendingDelivery, isLeased: Bool)?, Progress) {
        let leased = leased(record, of: key)
        guard let delivery = leased ?? conversations[key]?.delivery(record), mayEnd(delivery, leased != nil)
        else { return (nil, []) }
        withConversation(key) { conversation in
            guard leased != nil else { return conversation.remove(record) }
            conversation.popFirst()
            conversation.head = .idle
        }
        let progress = advance(key)
        if conversations[key]?.isEmpty == true { conversations[key] = nil }
        return ((delivery, leased != nil), progress)
    }

    /// Finds a message, and whether it is leased; searches all conversations.
    func find(_ record: UInt64) -> (lease: Lease, isLeased: Bool)? {
        for (key, conversation) in conversations {
            guard let delivery = conversation.delivery(record) else { continue }
            return (Lease(conversation: key, pending: delivery), leased(record, of: key) != nil)
        }
        return nil
    }

    /// Adds to `found` the oldest unfinished message of each business, unless `found` has an older one.
    func findOldest(_ found: inout [BusinessID: PendingDelivery]) {
        for (key, conversation) in conversations {
            guard let oldest = conversation.oldest else { continue }
            let known = found[key.business]
            if known == nil || oldest.record < known?.record ?? 0 { found[key.business] = oldest }
        }
    }

    /// Makes the first delivery and the first unrecorded message of a conversation ready, when possible.
    private mutating func advance(_ key: ConversationKey) -> Progress {
        withConversation(key) { conversation in
            var progress: Progress = []
            // `makeRecordable` is called first, because it raises `recordedCount` for messages that need no
            // recording.
            if conversation.makeRecordable() { progress.insert(.recordable) }
            if conversation.makeReady() { progress.insert(.deliverable) }
            return progress
        } ?? []
    }

    /// Changes a conversation in place; nil when it does not exist.
    @discardableResult
    private mutating func withConversation<Result>(
        _ key: ConversationKey, _ change: (inout Conversation) -> Result
    ) -> Result? {
        guard let index = conversations.index(forKey: key) else { return nil }
        return change(&conversations.values[index])
    }
}

extension ConversationQueues.Conversation {
    /// Whether no message is left; `hasGap` is discarded with such a conversation.
    fileprivate var isEmpty: Bool { pending.isEmpty && parked.isEmpty && due.isEmpty }

    /// Whether the delivery with this record is leased.
    fileprivate func leases(_ record: UInt64) -> Bool {
        head == .leased && !pending.isEmpty && pending[0].record == record
    }

    fileprivate var firstUnrecorded: Int? {
        recordedCount < pending.count ? recordedCount : nil
    }

    fileprivate var hasUnrecordedSuspect: Bool {
        (recordedCount..<max(recordedCount, pending.count)).contains { pending[$0].isRecordingSuspect }
    }

    /// Returns the index of a message in `pending`; nil when it is parked or absent.
    ///
    /// Messages are sorted by record, except for replays and for events of failed replies. These are added
    /// later than other messages with higher records.
    fileprivate func index(of record: UInt64) -> Int? {
        var low = 0
        var high = pending.count
        // The first recorded message may be out of order, because a parked delivery that is due is put in
        // front.
        if low < high, pending[low].record == record { return low }
        if low < high, recordedCount > 0 { low += 1 }
        while low < high {
            let middle = low + (high - low) / 2
            if pending[middle].record < record { low = middle + 1 } else { high = middle }
        }
        if low < pending.count, pending[low].record == record { return low }
        return pending.firstIndex { $0.record == record }
    }

    fileprivate mutating func add(_ delivery: PendingDelivery) {
        if delivery.isParked { hasGap = true }
        if delivery.isParked, delivery.recording.isDone {
            parked.append(delivery)
        } else {
            pending.append(delivery)
        }
    }

    fileprivate mutating func record(_ record: UInt64, as line: RecordedLine) -> PendingDelivery? {
        guard let index = firstUnrecorded, pending[index].record == record else { return nil }
        self.recording = .idle
        pending[index].recording = line.recording
        pending[index].event = line.event
        pending[index].begins = line.begins
        guard pending[index].isParked else {
            recordedCount += 1
            return nil
        }
        // An earlier process parked this message: after its turn to be recorded, it leaves the order again.
        guard let delivery = pending.remove(where: { $0.record == record }) else { return nil }
        parked.append(delivery)
        return delivery
    }

    fileprivate mutating func popFirst() {
        _ = pending.popFirst()
        recordedCount = max(0, recordedCount - 1)
    }

    fileprivate mutating func prepend(_ delivery: PendingDelivery) {
        pending.prepend(delivery)
        recordedCount += 1
    }

    /// The unfinished message with the smallest record.
    fileprivate var oldest: PendingDelivery? {
        [pending.first, due.first, parked.min { $0.record < $1.record }].compactMap(\.self)
            .min { $0.record < $1.record }
    }

    fileprivate func delivery(_ record: UInt64) -> PendingDelivery? {
        parked.first { $0.record == record }
            ?? pending.first { $0.record == record }
            ?? due.first { $0.record == record }
    }

    /// Removes a message that is not leased.
    ///
    /// The conversation may stay in the list of ready conversations: `lease(_:)` checks whether it still is
    /// ready.
    fileprivate mutating func remove(_ record: UInt64) {
        parked.removeAll { $0.record == record }
        _ = due.remove { $0.record == record }
        guard let index = pending.firstIndex(where: { $0.record == record }) else { return }
        if index == 0 { head = .idle }
        if index < recordedCount {
            recordedCount -= 1
        } else if recording == .scheduled || recording == .postponed {
            recording = .idle
        }
        _ = pending.remove { $0.record == record }
        hasGap = true
    }

    /// Moves the leased delivery out of the conversation's order.
    fileprivate mutating func park() {
        guard var delivery = pending.first else { return }
        popFirst()
        if !delivery.isParked { hasGap = true }
        delivery.isParked = true
        parked.append(delivery)
        head = .idle
    }

    /// Lets a parked delivery be leased, because it is due; false when the delivery is not parked.
    ///
    /// It is leased before the conversation's other deliveries, as soon as none of them is leased or
    /// postponed.
    fileprivate mutating func makeDue(_ record: UInt64) -> Bool {
        guard let index = parked.firstIndex(where: { $0.record == record }) else { return false }
        let delivery = parked.remove(at: index)
        // A ready conversation leases its first delivery next, so the due delivery is put in front.
        if case .ready = head { prepend(delivery) } else { due.append(delivery) }
        // The first delivery is a suspect now: the idle state makes `advance` report the conversation as
        // ready again.
        if case .ready = head, delivery.isSuspect { head = .idle }
        return true
    }

    /// Makes the first delivery of an idle conversation ready; returns whether it did.
    fileprivate mutating func makeReady() -> Bool {
        guard head == .idle else { return false }
        if let delivery = due.popFirst() { prepend(delivery) }
        guard recordedCount > 0 else { return false }
        head = .ready
        return true
    }

    /// Schedules the first unrecorded message; returns whether it did.
    fileprivate mutating func makeRecordable() -> Bool {
        guard recording == .idle else { return false }
        // Skip the messages that an earlier process recorded and those that need no line.
        while let index = firstUnrecorded, pending[index].recording.isDone { recordedCount += 1 }
        guard let index = firstUnrecorded, !pending[index].awaitsReference else { return false }
        recording = .scheduled
        return true
    }

    /// Leases the first delivery for an attempt.
    fileprivate mutating func lease(_ key: ConversationKey) -> Lease? {
        guard head == .ready, !pending.isEmpty else { return nil }
        head = .leased
        let first = 0
        pending[first].lease()
        if hasGap, !pending[first].isParked {
            pending[first].isAfterGap = true
            hasGap = false
        }
        return Lease(conversation: key, pending: pending[first])
    }
}
