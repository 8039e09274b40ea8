import BalloonJSON
import BalloonPOSIX
import BusinessMessages

/// The assignments of all conversations that are or were with a person or waiting for one.
///
/// The table is a part of ``JournalState``, which applies the journal's records to it. An entry whose
/// conversation is again with its handler stays until the handler gets an event. The entry is then
/// ``Entry/isQuiet``, and stays until no earlier event is unfinished. Of these and of the closed
/// conversations, the table keeps the latest ``maximumEnded``. It also keeps all with an unfinished event
/// that is left to a person.
struct AssignmentTable: Sendable {
    /// The assignment of one conversation.
    struct Entry: Hashable, Sendable {
        var assignment: Assignment
        /// The record that last ended `person` or `waiting`; the handler does not get earlier events.
        var endedIn: UInt64
        /// The customer's message that last opened the conversation after a close; 0 without one.
        var reopenedIn: UInt64 = 0
        /// The last record whose event needs the entry.
        var neededThrough: UInt64 { max(endedIn, reopenedIn) }
        /// The journal segment of the entry's record; kept until the record is copied to a later segment.
        var segment: UInt64

        /// Whether the handler answers again and has got an event since.
        ///
        /// Only earlier events are still left to a person.
        var isQuiet: Bool { assignment.state == .handler && assignment.began == nil }
    }

    private(set) var entries: [ConversationKey: Entry] = [:]
    /// The number of conversations that are with a person or wait for one.
    private(set) var assignedCount = 0
    /// The maximum number of conversations that are with persons or wait for one; each takes up to 3 KB.
    var maximumAssigned = 100_000
    /// The number of ended entries that the last `dropOldest` kept, and at least ``maximumEnded``.
    private var maximumKept = maximumEnded
    /// The changes that people see and whose line is not recorded yet, in order.
    ///
    /// From twice ``maximumChanges`` on the older half is forgotten.
    private(set) var changes: [(conversation: ConversationKey, assignment: Assignment)] = []
    /// The conversations whose quiet entries ``removeQuiet(_:except:)`` removes next.
    private var removable: Set<ConversationKey> = []

    /// The maximum number of entries of conversations that are with their handler or closed.
    static let maximumEnded = 10_000

    private static let maximumChanges = 10_000

    /// Returns the assignment of a conversation; a conversation without an entry is with its handler.
    func assignment(of key: ConversationKey) -> Assignment {
        guard !entries.isEmpty, let entry = entries[key], !entry.isQuiet else { return .handler }
        return entry.assignment
    }

    /// The entries that lists show: all entries that are not quiet.
    var shown: [ConversationKey: Entry] { entries.filter { !$0.value.isQuiet } }

    /// Returns whether the event with this record is left to a person.
    ///
    /// That is so while the conversation is with a person or waits for one. Events that arrived in such a
    /// time stay left to a person.
    func isWithPerson(_ record: UInt64, of key: ConversationKey) -> Bool {
        guard !entries.isEmpty, let entry = entries[key] else { return false }
        return entry.assignment.isAssigned || record <= entry.endedIn
    }

    /// Returns the number of the first line that the handler did not see.
    ///
    /// Nil unless the event is the handler's first one after a person answered.
    func afterPerson(_ record: UInt64, of key: ConversationKey) -> Int? {
        guard !entries.isEmpty, let entry = entries[key], entry.assignment.state == .handler,
            record > entry.endedIn
        else { return nil }
        return entry.assignment.began?.sequence
    }

    /// Whether the customer's message with this record is the first one after the business closed the conversation.
    func isReopened(by record: UInt64, of key: ConversationKey) -> Bool {
        !entries.isEmpty && entries[key]?.reopenedIn == record
    }

    /// Applies a change of an assignment, or its copy in a later segment.
    mutating func apply(_ record: AssignmentRecord, by number: UInt64, in segment: UInt64) {
        set(
            record.assignment, of: record.conversation, endedIn: record.endedIn,
            reopenedIn: record.reopenedIn, by: number, in: segment)
    }

    /// Applies the hand-off of an outcome.
    mutating func apply(handOff: AssignmentRecord, by number: UInt64, in segment: UInt64) {
        var next = handOff.assignment
        let began = assignment(of: handOff.conversation).began ?? next.began
        next.began = began.map { Assignment.Beginning(record: 0, sequence: $0.sequence) }
        set(next, of: handOff.conversation, by: number, in: segment)
    }

    /// Applies a message: a customer's, or one that a person wrote.
    mutating func apply(_ message: JournalRecord.Message, by number: UInt64, in segment: UInt64) {
        guard message.replayOf == nil else { return }
        if let change = message.change { return removeChange(change) }
        let key = message.conversation
        let at = message.at ?? Timestamp(milliseconds: 0)
        guard message.outboundKind != nil else {
            // Its content says whether it answers a question of the server, which changes nothing.
            if message.hasReference { return }
            return apply(message.act, of: key, at: at, in: number, by: number, in: segment)
        }
        guard let person = message.author?.person else { return }
        guard let sequence = message.claimedAt else { return recordSign(of: person, in: key, at: at) }
        var claimed = assignment(of: key).claimed(by: person, at: at, sequence: sequence)
        claimed.unanswered = nil
        set(claimed, of: key, by: number, in: segment)
    }

    /// Applies a customer's message whose content was a reference until the record `number`.
    ///
    /// The entry belongs to the segment of the message, without which that record cannot be applied again.
    mutating func apply(resolved message: JournalState.Message, by number: UInt64) {
        let state = message.state
        guard state.replayOf == nil, state.outboundKind == nil else { return }
        apply(
            state.act, of: message.conversation, at: message.at, in: state.record, by: number,
            in: state.location.segment)
    }

    /// Applies what the customer's message of the record `message` does to the assignment.
    private mutating func apply(
        _ act: ReceivedMessage.Act, of key: ConversationKey, at: Timestamp, in message: UInt64,
        by number: UInt64, in segment: UInt64
    ) {
        guard !entries.isEmpty, let entry = entries[key] else { return }
        // A later text has opened the conversation while this message was downloaded.
        if act == .writes, message < entry.reopenedIn { entries[key]?.reopenedIn = message }
        let change: AssignmentChange
        switch act {
        case .writes: change = .customerMessage
        case .closes: change = .customerClose
        case .neither, .internal: return
        }
        if act == .writes, entry.assignment.placement != nil, entry.assignment.unanswered == nil {
            entries[key]?.assignment.unanswered = Assignment.Unanswered(since: at, isFirst: false)
        }
        guard case .to(let next) = entries[key]?.assignment.applying(change, at: at) else { return }
        let isReopened = entry.assignment.state == .closed && act == .writes
        set(next, of: key, reopenedIn: isReopened ? message : 0, by: number, in: segment)
    }

    /// Sets `lastSeen`, and that the customer has an answer, when the person who has the conversation wrote a message.
    private mutating func recordSign(of person: Person, in key: ConversationKey, at: Timestamp) {
        guard let assignment = entries[key]?.assignment, assignment.person?.id == person.id else { return }
        entries[key]?.assignment.lastSeen = max(assignment.lastSeen ?? at, at)
        entries[key]?.assignment.unanswered = nil
    }

    /// Sets the assignment that record `number` stores; a record number 0 in `assignment` means `number`.
    private mutating func set(
        _ assignment: Assignment, of key: ConversationKey, endedIn: UInt64? = nil, reopenedIn: UInt64 = 0,
        by number: UInt64, in segment: UInt64
    ) {
        var assignment = assignment
        // A copied assignment (`endedIn` is not nil) keeps the number of its original record.
        if endedIn == nil { assignment.record = number }
        if let began = assignment.began, began.record == 0 {
            assignment.began = Assignment.Beginning(record: number, sequence: began.sequence)
        }
        // A copy is no change.
        if endedIn == nil, assignment.isShownAsChange(of: self.assignment(of: key)) {
            if changes.count == Self.maximumChanges * 2 { changes.removeFirst(Self.maximumChanges) }
            changes.append((key, assignment))
        }
        let before = entries[key]
        let wasAssigned = before?.assignment.isAssigned ?? false
        let isAssigned = assignment.isAssigned
        assignedCount += (isAssigned ? 1 : 0) - (wasAssigned ? 1 : 0)
        let ended = endedIn ?? (wasAssigned && !isAssigned ? number : before?.endedIn ?? 0)
        let entry = Entry(
            assignment: assignment, endedIn: ended,
            reopenedIn: reopenedIn > 0 ? reopenedIn : before?.reopenedIn ?? 0, segment: segment)
        entries[key] = entry.isQuiet && entry.neededThrough == 0 ? nil : entry
    }

    /// Returns those of ``changes`` that the latest record made.
    func changes(by record: UInt64) -> [(conversation: ConversationKey, assignment: Assignment)] {
        Array(changes.suffix(changes.reversed().prefix { $0.assignment.record == record }.count))
    }

    /// Forgets the change that this record made, because it has a line or needs none.
    mutating func removeChange(_ record: UInt64) {
        guard let place = changes.firstIndex(where: { $0.assignment.record == record }) else { return }
        changes.remove(at: place)
    }

    /// Forgets the changes before this time, whose lines an earlier version may have recorded.
    mutating func removeChanges(before limit: Timestamp) {
        changes.removeAll { $0.assignment.since.map { $0 < limit } ?? true }
    }

    /// Removes the entries that satisfy `isErased`, and such changes; returns whether there were any entries.
    mutating func remove(where isErased: (ConversationKey, Assignment) -> Bool) -> Bool {
        changes.removeAll { isErased($0.conversation, $0.assignment) }
        let erased = entries.filter { isErased($0.key, $0.value.assignment) }
        for (key, entry) in erased {
            if entry.assignment.isAssigned { assignedCount -= 1 }
            entries[key] = nil
        }
        return !erased.isEmpty
    }

    /// Records that the handler got an event of the conversation, which makes the entry quiet.
    mutating func finish(_ record: UInt64, of key: ConversationKey) {
        guard afterPerson(record, of: key) != nil, let entry = entries[key] else { return }
        entries[key]?.assignment = Assignment(state: .handler, record: entry.assignment.record)
    }

    /// Removes the entry of a conversation if it is quiet, unless one of the open messages needs it.
    ///
    /// This reads all open messages, so with many of them it waits until several entries can be removed.
    mutating func removeQuiet(_ key: ConversationKey, except open: [UInt64: JournalState.Message]) {
        guard !entries.isEmpty, entries[key]?.isQuiet == true else { return }
        removable.insert(key)
        guard removable.count * Self.messagesForEach >= open.count else { return }
        var quiet: [ConversationKey: Entry] = [:]
        for key in removable { if let entry = entries[key], entry.isQuiet { quiet[key] = entry } }
        let needed = Self.needed(quiet, by: open)
        for key in quiet.keys where !needed.contains(key) { entries[key] = nil }
        removable = []
    }

    private static let messagesForEach = 256

    /// Drops the oldest entries of unassigned conversations, down to ``maximumEnded``, unless one of the open messages needs
    /// them.
    mutating func dropOldest(except open: [UInt64: JournalState.Message]) {
        var ended: Int { entries.count - assignedCount }
        if ended <= Self.maximumEnded { maximumKept = Self.maximumEnded }
        // Entries are dropped only after an eighth of the maximum has been added, so that sorting is rare.
        guard ended > maximumKept + Self.maximumEnded / 8 else { return }
        let candidates = entries.filter { !$0.value.assignment.isAssigned }
        let needed = Self.needed(candidates, by: open)
        let oldest = candidates.filter { !needed.contains($0.key) }
            .sorted { $0.value.assignment.record < $1.value.assignment.record }
            .prefix(ended - Self.maximumEnded)
        for (key, _) in oldest { entries[key] = nil }
        // Entries with unfinished events must stay; raising the limit avoids sorting them again at every change.
        maximumKept = max(Self.maximumEnded, ended)
    }

    /// The conversations of `entries` with an unfinished event that needs the entry.
    private static func needed(
        _ entries: [ConversationKey: Entry], by open: [UInt64: JournalState.Message]
    ) -> Set<ConversationKey> {
        Set(
            open.values.lazy.filter { message in
                !message.state.isDelivered
                    && entries[message.conversation].map { message.state.record <= $0.neededThrough } ?? false
            }.map(\.conversation))
    }
}

/// The part of a journal record that changes an assignment.
struct AssignmentRecord: Hashable, Sendable {
    let conversation: ConversationKey
    /// The assignment after the record; a `record` of 0 means the number of this journal record.
    let assignment: Assignment
    /// For a copy in a later segment, the value of `AssignmentTable.Entry.endedIn`; otherwise nil.
    let endedIn: UInt64?
    /// For a copy in a later segment, the value of `AssignmentTable.Entry.reopenedIn`; otherwise 0.
    var reopenedIn: UInt64 = 0
}

extension AssignmentTable {
    /// Adds the table to a snapshot: each entry as the record that would copy it to a later segment.
    func encode(to bytes: inout SnapshotEncoder) {
        let sorted = entries.sorted { $0.value.assignment.record < $1.value.assignment.record }
        bytes.append(sorted) { bytes, element in
            let (key, entry) = element
            bytes.append(
                entry.assignment, of: key, endedIn: entry.endedIn, reopenedIn: entry.reopenedIn)
            bytes.append(entry.segment)
        }
        bytes.append(changes) { bytes, change in
            bytes.append(change.assignment, of: change.conversation, endedIn: 0, reopenedIn: 0)
        }
    }

    /// Loads the table from a snapshot; throws when the snapshot is damaged.
    init(_ bytes: inout SnapshotDecoder) throws {
        let list = try bytes.list { bytes in
            let record = try bytes.nextAssignment()
            return (
                record.conversation,
                Entry(
                    assignment: record.assignment, endedIn: try SnapshotDecoder.required(record.endedIn),
                    reopenedIn: record.reopenedIn, segment: try bytes.next())
            )
        }
        changes = try bytes.list { bytes in
            let record = try bytes.nextAssignment()
            return (record.conversation, record.assignment)
        }
        entries = Dictionary(list) { _, last in last }
        assignedCount = entries.count { $0.value.assignment.isAssigned }
    }
}

extension SnapshotEncoder {
    /// Appends an assignment as the record that would copy it to a later segment.
    fileprivate mutating func append(
        _ assignment: Assignment, of conversation: ConversationKey, endedIn: UInt64, reopenedIn: UInt64
    ) {
        let copy = JournalBody.assignment(
            assignment, of: conversation, by: "copy", endedIn: endedIn, reopenedIn: reopenedIn,
            at: Timestamp(milliseconds: 0))
        append(String(decoding: copy.body, as: UTF8.self))
    }
}

extension SnapshotDecoder {
    /// Reads the record of an assignment; throws when it is damaged.
    fileprivate mutating func nextAssignment() throws -> AssignmentRecord {
        let document = try JSONDocument(Array(try nextText().utf8), limits: .journal)
        guard case .assignment(let record) = JournalRecord.read(document.root) else { throw Misfit() }
        return record
    }
}
