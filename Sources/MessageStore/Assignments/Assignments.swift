import BalloonPOSIX
import BusinessMessages
import Synchronization

/// The assignments of a running store.
///
/// Every change and every decided outcome of a conversation is appended to the journal under the lock of this class. An
/// outcome behind a claim is therefore never in the journal. While a change is on its way to the disk, later
/// changes and outcomes of its conversation wait, so that a failed sync has nothing to take back.
final class Assignments: Sendable {
    /// The result of a step under the lock.
    enum Step {
        /// A change was appended: later steps of the conversation wait for its result.
        case appended
        /// No change was appended; the action runs after the lock is released.
        case done(@Sendable () -> Void)
    }

    private typealias Waiting = @Sendable (AssignmentTable) -> Step

    private struct State {
        var table: AssignmentTable
        /// The conversations with a change on its way to the disk, and the steps that wait for it.
        var inFlight: [ConversationKey: [Waiting]] = [:]
    }

    private let state: Mutex<State>
    /// The number of entries and of changes in flight: most stores have none, and their messages skip the lock.
    private let count: Atomic<Int>
    private let files: AssignmentFiles

    init(_ table: AssignmentTable, files: AssignmentFiles) {
        self.files = files
        count = Atomic(table.entries.count)
        state = Mutex(State(table: table))
    }

    /// Whether every conversation is with its handler.
    var isEmpty: Bool { count.load(ordering: .acquiring) == 0 }

    /// Reads the table; never waits for the disk.
    func withTable<Result: Sendable>(_ body: (AssignmentTable) -> Result) -> Result {
        state.withLock { body($0.table) }
    }

    /// Records that the handler got an event of the conversation.
    func finish(_ record: UInt64, of key: ConversationKey) {
        let isChanged = state.withLock { state in
            defer { recount(state) }
            return state.table.finish(record, of: key)
        }
        if isChanged { files.update([key], from: self) }
    }

    /// Runs `step` under the lock, now or after the conversation's change that is on its way to the disk.
    func run(_ key: ConversationKey, _ step: @escaping @Sendable (AssignmentTable) -> Step) {
        let action = state.withLock { state -> (@Sendable () -> Void)? in
            if state.inFlight[key] != nil {
                state.inFlight[key]?.append(step)
                return nil
            }
            defer { recount(state) }
            switch step(state.table) {
            case .appended:
                state.inFlight[key] = []
                return nil
            case .done(let action): return action
            }
        }
        action?()
    }

    /// Applies the records of a batch in their order, then continues with the steps that waited; on the journal's queue,
    /// before the callers are told.
    func settle(_ entries: [JournalEntry], _ result: Journal.BatchResult) {
        if isEmpty, !entries.contains(where: { $0.assignment != nil }) { return }
        var records: [JournalledRecord]?
        if case .durable(let written) = result { records = written }
        var resumed: [(ConversationKey, [Waiting])] = []
        var changed: [ConversationKey] = []
        state.withLock { state in
            for (position, entry) in entries.enumerated() {
                if let change = entry.assignment {
                    if let record = records?[position] {
                        state.table.apply(change, record)
                        changed.append(change.conversation)
                    }
                    if let steps = state.inFlight.removeValue(forKey: change.conversation) {
                        resumed.append((change.conversation, steps))
                    }
                } else if let record = records?[position], case .sender(let accepted, _) = entry.waiter {
                    if state.table.apply(accepted, record) { changed.append(accepted.conversation) }
                }
            }
            changed += state.table.takeDropped()
            recount(state)
        }
        files.update(changed, from: self)
        for (key, steps) in resumed { for step in steps { run(key, step) } }
    }

    /// Writes the entries again whose records are in this segment or an earlier one, so that those can be deleted.
    func copy(through segment: UInt64, to journal: Journal) async throws {
        let keys = withTable { $0.entries.filter { $0.value.segment <= segment }.map(\.key) }
        for start in stride(from: 0, to: keys.count, by: Self.copiesAtOnce) {
            try await withThrowingDiscardingTaskGroup { group in
                for key in keys[start..<min(start + Self.copiesAtOnce, keys.count)] {
                    group.addTask { try await self.copy(key, through: segment, to: journal) }
                }
            }
        }
    }

    private static let copiesAtOnce = 256

    private func copy(_ key: ConversationKey, through segment: UInt64, to journal: Journal) async throws {
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            run(key) { table in
                guard let entry = table.entries[key], entry.segment <= segment else {
                    return .done { continuation.resume() }
                }
                do throws(StoreError) {
                    try journal.append(
                        JournalEntry(
                            body: JournalBody.assignment(
                                entry.assignment, of: key, by: "copy", endedIn: entry.endedIn, at: .now()),
                            waiter: .completion { continuation.resume(with: $0.map { _ in }) },
                            assignment: AssignmentEffect(
                                conversation: key, assignment: entry.assignment, endedIn: entry.endedIn)))
                    return .appended
                } catch {
                    return .done { continuation.resume(throwing: error) }
                }
            }
        }
    }

    private func recount(_ state: State) {
        count.store(state.table.entries.count + state.inFlight.count, ordering: .releasing)
    }
}

/// The effect of a journal entry on the assignment of its conversation, once it is on disk.
struct AssignmentEffect: Sendable {
    let conversation: ConversationKey
    let assignment: Assignment
    /// For a copy in a later segment, the record at which a person's time ended; otherwise nil.
    var endedIn: UInt64?
}

extension AssignmentTable {
    fileprivate mutating func apply(_ effect: AssignmentEffect, _ record: JournalledRecord) {
        set(
            effect.assignment, of: effect.conversation, endedIn: effect.endedIn, by: record.number,
            in: record.location.segment)
    }

    /// Returns whether the message changed the state of its conversation.
    fileprivate mutating func apply(_ accepted: AcceptedMessage, _ record: JournalledRecord) -> Bool {
        guard accepted.message.outboundKind == nil else {
            guard let person = accepted.message.author?.person else { return false }
            recordSign(of: person, in: accepted.conversation, at: accepted.message.receivedAt)
            return false
        }
        return apply(
            accepted.message.act, of: accepted.conversation, at: accepted.message.receivedAt,
            by: record.number, in: record.location.segment)
    }
}
