import BalloonPOSIX
package import BusinessMessages

/// The conversations that wait for a person, in the order in which they are answered.
///
/// The order is computed from the table of assignments; there is no list beside it.
extension Store {
    /// Returns the priority of a waiting conversation; nil when it is not meant.
    ///
    /// `held` counts the conversations that a person has or is offered, by queue; nil is the key of those that are in no queue.
    package typealias Priority = @Sendable (_ waiting: Assignment, _ held: [String?: Int]) -> Int?

    /// Claims the conversation with the highest priority that has waited longest; nil when none is meant for the person.
    ///
    /// The choice and the claim are one step under the lock that orders all changes, so that no two persons get the
    /// same conversation. `queue` names the queue in which a conversation of the person counts.
    package func claimNext(
        of business: BusinessID, for person: Person,
        queue: @escaping @Sendable (Assignment) -> String? = { $0.placement?.queue },
        priority: @escaping Priority
    ) async throws -> AssignedConversation? {
        try await withCheckedThrowingContinuation { continuation in
            journalState.run(choosing: { $0.next(of: business, for: person, queue, priority, $1) }) {
                [self] key, table, _ in
                guard let key else { return .done { continuation.resume(returning: nil) } }
                let at = Timestamp.now()
                let claimed = table.assignment(of: key).claimed(by: person, at: at, sequence: 1)
                return append(claimed, of: key, by: "claim", at: at) { result in
                    continuation.resume(with: result.map { AssignedConversation(key, $0) })
                }
            }
        }
    }

    /// The waiting conversations of a business to which `priority` gives one, in their order, after the place `after`.
    ///
    /// Never blocks and opens no file. `next` is the place after the last one, if others follow.
    package func waitingConversations(
        of business: BusinessID, after: WaitingRank? = nil, limit: Int = .max, priority: Priority
    ) -> (conversations: [AssignedConversation], next: WaitingRank?) {
        let table = journalState.withAssignments { $0 }
        // Only a page and one more are sorted, whenever twice as many are there: most others are then skipped.
        let kept = min(limit, 1 << 30) + 1
        var ranked: [(rank: WaitingRank, key: ConversationKey)] = []
        var worst: WaitingRank?
        table.forEachRank(of: business, { priority($0, [:]) }) { rank, key in
            if let after, rank <= after { return }
            if let worst, worst < rank { return }
            ranked.append((rank, key))
            guard ranked.count >= 2 * kept else { return }
            ranked.sort { $0.rank < $1.rank }
            ranked.removeLast(kept)
            worst = ranked.last?.rank
        }
        ranked.sort { $0.rank < $1.rank }
        let conversations = ranked.prefix(limit).map { _, key in
            AssignedConversation(key, table.assignment(of: key))
        }
        return (conversations, ranked.count > limit ? ranked[limit - 1].rank : nil)
    }
}

/// A place in the order of waiting conversations: a higher priority first, then the longer wait, then the earlier record.
package struct WaitingRank: Comparable, Sendable {
    let priority: Int
    let since: Int64
    let record: UInt64

    /// Whether `one` is answered before `other`.
    package static func < (one: WaitingRank, other: WaitingRank) -> Bool {
        (other.priority, one.since, one.record) < (one.priority, other.since, other.record)
    }

    /// The place as `9.1764288000000.57`.
    package var text: String { "\(priority).\(since).\(record)" }
}

extension WaitingRank {
    /// Reads ``text``; nil for another text.
    package init?(_ text: String) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let priority = Int(parts[0]), let since = Int64(parts[1]),
            let record = UInt64(parts[2])
        else { return nil }
        self.init(priority: priority, since: since, record: record)
    }
}

extension AssignmentTable {
    /// The conversation that the person gets next: the first one without a change in flight, else the first one.
    ///
    /// While the person gets another conversation, it is that one, so that the choice is repeated when it counts.
    func next(
        of business: BusinessID, for person: Person, _ queue: (Assignment) -> String?,
        _ priority: Store.Priority, _ inFlight: [ConversationKey: CurrentState.ChangeInFlight]
    ) -> ConversationKey? {
        let own = inFlight.first { $0.key.business == business && $0.value.person?.id == person.id }
        if let own { return own.key }
        var held: [String?: Int] = [:]
        let now = Timestamp.now()
        for (key, entry) in entries where key.business == business {
            let holder = entry.assignment.person ?? entry.assignment.offer?.person(at: now)
            if holder?.id == person.id { held[queue(entry.assignment), default: 0] += 1 }
        }
        var (first, free):
            ((rank: WaitingRank, key: ConversationKey)?, (rank: WaitingRank, key: ConversationKey)?)
        forEachRank(of: business, { priority($0, held) }) { rank, key in
            if first.map({ rank < $0.rank }) ?? true { first = (rank, key) }
            if free.map({ rank < $0.rank }) ?? true, inFlight[key] == nil { free = (rank, key) }
        }
        return (free ?? first)?.key
    }

    /// Calls `body` with each waiting conversation to which `priority` gives one, in no order.
    func forEachRank(
        of business: BusinessID, _ priority: (Assignment) -> Int?,
        _ body: (WaitingRank, ConversationKey) -> Void
    ) {
        for (key, entry) in entries where entry.assignment.state == .waiting && key.business == business {
            let assignment = entry.assignment
            guard let priority = priority(assignment) else { continue }
            let since = assignment.since?.milliseconds ?? 0
            body(WaitingRank(priority: priority, since: since, record: assignment.stateRecord), key)
        }
    }
}
