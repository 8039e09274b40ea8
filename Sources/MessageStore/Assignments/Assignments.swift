import BalloonPOSIX
import BusinessMessages

/// How changes of assignments are ordered.
///
/// Every change and every decided outcome of a conversation is appended to the journal under the lock of the
/// state. The journal therefore never contains a handler's outcome after a claim. Until a change is durable,
/// later changes and outcomes of its conversation wait. A failed sync therefore needs no rollback.
extension CurrentState {
    /// The result of a step under the lock.
    enum Step {
        /// A change was appended: later steps of the conversation wait until it is durable or has failed.
        ///
        /// `person` has the conversation then.
        case appended(person: Person? = nil)
        /// No change was appended; the action runs after the lock is released.
        case done(@Sendable () -> Void)
    }

    /// Gets each change of the state, the person or the queue.
    typealias Follower = @Sendable (ConversationKey, Assignment) -> Void

    /// A change of a conversation that is not durable yet.
    struct ChangeInFlight {
        /// The person who has the conversation after the change.
        let person: Person?
        /// The steps that wait for the change.
        var steps: [@Sendable () -> Void] = []
    }

    /// Counts the changes that are prepared: each reads the conversation's file, and its step has not run.
    struct Watch {
        fileprivate var count = 0
        /// Whether the customer's latest durable message since the watch began closes the conversation.
        fileprivate var closes: Bool?
    }

    /// Reads the assignments; never waits for the disk.
    func withAssignments<Result: Sendable>(_ body: (AssignmentTable) -> Result) -> Result {
        isUnassigned ? body(AssignmentTable()) : withState { body($0.assignments) }
    }

    /// Calls `follower` for each later change of the state, the person or the queue, when it is durable.
    ///
    /// The call is on the journal's queue, in the order of the changes, and must return quickly. The first calls, by this function,
    /// are for those whose line an earlier process has not recorded.
    func follow(_ follower: @escaping Follower) {
        let changes = withLock { state in
            state.follower = follower
            return state.journal.assignments.changes
        }
        for change in changes { follower(change.conversation, change.assignment) }
    }

    /// Starts to record whether the customer closes the conversation; must precede the read of its file.
    ///
    /// The watch ends with ``unwatch(_:)``, or with a ``run(_:endingWatch:_:)`` that ends it.
    func watch(_ key: ConversationKey) { withLock { $0.watches[key, default: Watch()].count += 1 } }

    /// Ends one watch that ``watch(_:)`` began.
    func unwatch(_ key: ConversationKey) { withLock { $0.endWatch(of: key) } }

    /// Runs `step` under the lock: at once, or after the conversation's change in flight has ended.
    ///
    /// The step gets the assignments, and whether the customer's latest message closes the conversation. Only
    /// messages since the watch began count. The second value is nil when the conversation is not watched, or
    /// no such message arrived.
    func run(
        _ key: ConversationKey, endingWatch endsWatch: Bool = false,
        _ step: @escaping @Sendable (_ table: AssignmentTable, _ closes: Bool?) -> Step
    ) {
        run(choosing: { _, _ in key }, endingWatch: endsWatch) { _, table, closes in step(table, closes) }
    }

    /// Runs `step` for the conversation that `choose` returns, both under the lock.
    ///
    /// When the chosen conversation has a change in flight, the choice is repeated after the end of that change.
    func run(
        choosing choose:
            @escaping @Sendable (AssignmentTable, [ConversationKey: ChangeInFlight]) -> ConversationKey?,
        endingWatch endsWatch: Bool = false,
        _ step: @escaping @Sendable (ConversationKey?, AssignmentTable, _ closes: Bool?) -> Step
    ) {
        let action = withLock { state -> (@Sendable () -> Void)? in
            let key = choose(state.journal.assignments, state.inFlight)
            if let key, state.inFlight[key] != nil {
                state.inFlight[key]?.steps.append { [self] in
                    run(choosing: choose, endingWatch: endsWatch, step)
                }
                return nil
            }
            let closes = key.flatMap { state.watches[$0]?.closes }
            if endsWatch, let key { state.endWatch(of: key) }
            switch step(key, state.journal.assignments, closes) {
            case .appended(let person):
                if let key { state.inFlight[key] = ChangeInFlight(person: person) }
                return nil
            case .done(let action): return action
            }
        }
        action?()
    }

    /// Copies each assignment of this or an earlier segment to a new record, so that the segments can be deleted.
    func copyAssignments(through segment: UInt64, to journal: Journal) async throws {
        let keys = withAssignments { $0.entries.filter { $0.value.segment <= segment }.map(\.key) }
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
                    return .appended()
                } catch .assignment {
                    // The customer's close is being written, and its record will replace the entry.
                    return .done { continuation.resume() }
                } catch {
                    return .done { continuation.resume(throwing: error) }
                }
            }
        }
    }
}

extension CurrentState.State {
    /// Applies a durable record; returns a call of the follower when people see another assignment.
    mutating func apply(
        _ record: JournalRecord, as written: JournalledRecord, now: Timestamp
    ) -> (@Sendable () -> Void)? {
        if !watches.isEmpty, let act = record.customerAct, let key = record.conversation {
            watches[key]?.closes = act == .closes
        }
        journal.apply(
            LocatedRecord(record: record, number: written.number, location: written.location), now: now)
        guard let follower else { return nil }
        let changes = journal.assignments.changes(by: written.number)
        if changes.isEmpty { return nil }
        return { for change in changes { follower(change.conversation, change.assignment) } }
    }

    fileprivate mutating func endWatch(of key: ConversationKey) {
        guard let count = watches[key]?.count else { return }
        if count > 1 { watches[key]?.count = count - 1 } else { watches[key] = nil }
    }
}
