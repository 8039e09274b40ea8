import BalloonPOSIX
import BusinessMessages
import Synchronization

/// The assignments of a running store.
///
/// Every change and every decided outcome of a conversation is appended to the journal under the lock of this
/// class. The journal therefore never contains a handler's outcome after a claim. Until a change is durable,
/// later changes and outcomes of its conversation wait. A failed sync therefore needs no rollback.
final class Assignments: Sendable {
    /// The result of a step under the lock.
    enum Step {
        /// A change was appended: later steps of the conversation wait until it is durable or has failed.
        case appended
        /// No change was appended; the action runs after the lock is released.
        case done(@Sendable () -> Void)
    }

    /// A step that receives the table, and whether the customer's latest message closes the conversation.
    ///
    /// Only messages since the watch began count. The second value is nil when the conversation is not
    /// watched, or no such message arrived.
    typealias Body = @Sendable (_ table: AssignmentTable, _ closes: Bool?) -> Step

    private struct Waiting: Sendable {
        let step: Body
        let endsWatch: Bool
    }

    /// Counts the changes that are prepared: each reads the conversation's file, and its step has not run.
    private struct Watch {
        var count = 0
        /// Whether the customer's latest durable message since the watch began closes the conversation.
        var closes: Bool?
    }

    private struct State {
        var table: AssignmentTable
        /// The conversations with a change that is not durable yet, and the steps that wait for it.
        var inFlight: [ConversationKey: [Waiting]] = [:]
        var watches: [ConversationKey: Watch] = [:]
    }

    /// Gets each change of the state, the person or the queue.
    struct Follower: Sendable { let call: @Sendable (ConversationKey, Assignment) -> Void }

    private let follower = Mutex<Follower?>(nil)
    private let state: Mutex<State>
    /// The number of entries, changes in flight and watched conversations; at 0, messages skip the lock.
    private let count: Atomic<Int>
    private let unfinished: @Sendable ([ConversationKey: UInt64]) -> Set<ConversationKey>

    /// Creates the assignments; `unfinished` (see ``AssignmentTable/Unfinished``) is called under the lock.
    init(
        _ table: AssignmentTable,
        unfinished: @escaping @Sendable ([ConversationKey: UInt64]) -> Set<ConversationKey>
    ) {
        self.unfinished = unfinished
        count = Atomic(table.entries.count)
        state = Mutex(State(table: table))
    }

    /// Whether the table has no entry, and no change is in flight or being prepared.
    var isEmpty: Bool { count.load(ordering: .acquiring) == 0 }

    /// Reads the table; never waits for the disk.
    func withTable<Result: Sendable>(_ body: (AssignmentTable) -> Result) -> Result {
        state.withLock { body($0.table) }
    }

    /// A copy of the entries at this moment, which the caller reads without the lock.
    ///
    /// The dictionary's storage is copied only when an entry changes while a caller still reads the copy.
    var entries: [ConversationKey: AssignmentTable.Entry] {
        isEmpty ? [:] : state.withLock { $0.table.entries }
    }

    /// Records that the handler got an event of the conversation.
    func finish(_ record: UInt64, of key: ConversationKey) {
        state.withLock { state in
            state.table.finish(record, of: key)
            recount(state)
        }
    }

    /// Removes the entries that satisfy `isErased`; returns whether there were any.
    func remove(where isErased: @Sendable (ConversationKey, Assignment) -> Bool) -> Bool {
        state.withLock { state in
            defer { recount(state) }
            return state.table.remove(where: isErased)
        }
    }

    /// Removes one or all quiet entries, except those on which an unfinished event depends.
    func removeQuiet(_ key: ConversationKey? = nil) {
        state.withLock { state in
            state.table.removeQuiet(key, unfinished)
            recount(state)
        }
    }

    /// Calls `follower` for each later change of the state, the person or the queue, when it is durable.
    ///
    /// The call is on the journal's queue, in the order of the changes, and must return quickly.
    func follow(_ follower: Follower) { self.follower.withLock { $0 = follower } }

    /// Starts to record whether the customer closes the conversation; must precede the read of its file.
    ///
    /// The watch ends with ``unwatch(_:)``, or with a ``run(_:endingWatch:_:)`` that ends it.
    func watch(_ key: ConversationKey) {
        state.withLock { state in
            state.watches[key, default: Watch()].count += 1
            recount(state)
        }
    }

    /// Whether any change is reading the file of its conversation or waits for its step.
    var isWatching: Bool { state.withLock { !$0.watches.isEmpty } }

    /// Ends one watch that ``watch(_:)`` began.
    func unwatch(_ key: ConversationKey) {
        state.withLock { state in
            Self.endWatch(of: key, in: &state)
            recount(state)
        }
    }

    private static func endWatch(of key: ConversationKey, in state: inout State) {
        guard let count = state.watches[key]?.count else { return }
        if count > 1 { state.watches[key]?.count = count - 1 } else { state.watches[key] = nil }
    }

    /// Runs `step` under the lock: at once, or after the conversation's change in flight has ended.
    func run(_ key: ConversationKey, endingWatch endsWatch: Bool = false, _ step: @escaping Body) {
        run(key, Waiting(step: step, endsWatch: endsWatch))
    }

    private func run(_ key: ConversationKey, _ waiting: Waiting) {
        let action = state.withLock { state -> (@Sendable () -> Void)? in
            if state.inFlight[key] != nil {
                state.inFlight[key]?.append(waiting)
                return nil
            }
            defer { recount(state) }
            let closes = state.watches.isEmpty ? nil : state.watches[key]?.closes
            if waiting.endsWatch { Self.endWatch(of: key, in: &state) }
            switch waiting.step(state.table, closes) {
            case .appended:
                state.inFlight[key] = []
                return nil
            case .done(let action): return action
            }
        }
        action?()
    }

    /// Runs `step` for the conversation that `choose` returns, both under the lock; `none` runs when it returns nil.
    ///
    /// When the chosen conversation has a change in flight, the choice is repeated after the end of that change.
    func run(
        choosing choose:
            @escaping @Sendable (AssignmentTable, _ isInFlight: (ConversationKey) -> Bool) -> ConversationKey?,
        _ step: @escaping @Sendable (ConversationKey, AssignmentTable) -> Step,
        none: @escaping @Sendable () -> Void
    ) {
        let action = state.withLock { state -> (@Sendable () -> Void)? in
            guard let key = choose(state.table, { state.inFlight[$0] != nil }) else { return none }
            let again: Body = { [self] _, _ in .done { self.run(choosing: choose, step, none: none) } }
            if state.inFlight[key]?.append(Waiting(step: again, endsWatch: false)) != nil { return nil }
            defer { recount(state) }
            switch step(key, state.table) {
            case .appended:
                state.inFlight[key] = []
                return nil
            case .done(let action): return action
            }
        }
        action?()
    }

    /// Applies the records of a batch in their order, then runs the steps that waited for these records.
    ///
    /// Called on the journal's queue before the callers learn the result. Returns the conversations that the
    /// batch assigned to a person or to the waiting state.
    func settle(_ entries: [JournalEntry], _ result: Journal.BatchResult) -> [ConversationKey] {
        if isEmpty, !entries.contains(where: { $0.record.meaning.assignedConversation != nil }) { return [] }
        var records: [JournalledRecord]?
        if case .durable(let written) = result { records = written }
        var resumed: [(ConversationKey, [Waiting])] = []
        var assigned: [ConversationKey] = []
        var changed: [(ConversationKey, Assignment)] = []
        let follower = follower.withLock(\.self)
        state.withLock { state in
            for (position, entry) in entries.enumerated() {
                let meaning = entry.record.meaning
                if let record = records?[position] {
                    let key = follower == nil ? nil : meaning.conversation
                    let before = key.map { state.table.assignment(of: $0) }
                    state.table.apply(
                        meaning, number: record.number, segment: record.location.segment,
                        unfinished: unfinished)
                    if let key, let before {
                        let after = state.table.assignment(of: key)
                        if after.isShownAsChange(of: before) { changed.append((key, after)) }
                    }
                    if let key = meaning.assigns { assigned.append(key) }
                    if !state.watches.isEmpty, let act = meaning.customerAct, let key = meaning.conversation {
                        state.watches[key]?.closes = act == .closes
                    }
                }
                if let key = meaning.assignedConversation,
                    let steps = state.inFlight.removeValue(forKey: key)
                {
                    resumed.append((key, steps))
                }
            }
            recount(state)
        }
        for (key, assignment) in changed { follower?.call(key, assignment) }
        for (key, steps) in resumed { for step in steps { run(key, step) } }
        return assigned
    }

    /// Copies each entry of this or an earlier segment to a new record, so that the segments can be deleted.
    func copy(through segment: UInt64, to journal: Journal) async throws {
        removeQuiet()
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
            run(key) { table, _ in
                guard let entry = table.entries[key], entry.segment <= segment else {
                    return .done { continuation.resume() }
                }
                do throws(StoreError) {
                    try journal.append(
                        JournalBody.assignment(
                            entry.assignment, of: key, by: "copy", endedIn: entry.endedIn,
                            reopenedIn: entry.reopenedIn, at: .now()),
                        for: .completion { continuation.resume(with: $0.map { _ in }) })
                    return .appended
                } catch .assignment {
                    // The customer's close is being written, and its record will replace the entry.
                    return .done { continuation.resume() }
                } catch {
                    return .done { continuation.resume(throwing: error) }
                }
            }
        }
    }

    private func recount(_ state: State) {
        count.store(
            state.table.entries.count + state.inFlight.count + state.watches.count, ordering: .releasing)
    }
}
