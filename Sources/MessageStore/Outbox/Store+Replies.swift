import BalloonPOSIX
package import BusinessMessages

/// Changes replies on behalf of an operator.
///
/// Changes run one at a time, and each first reads the replies' states from the journal. To repeat a change
/// is harmless.
extension Store {
    /// Queues replies that are dead letters again, with the same ids and bytes.
    ///
    /// An `edited` reply, which has a new id, replaces the given reply. Either all replies are queued or
    /// none; they are durable on return. A reply that is given twice is queued once. A reply that was retried
    /// before is not queued again; its result names the earlier record. Throws
    /// ``StoreError/unknownReply(record:index:)`` and ``StoreError/replyNotDead(_:)``; no reply is queued
    /// then. With a `business`, the replies of other businesses count as unknown.
    package func retry(
        _ replies: [ReplyID], as edited: DecidedReply? = nil, of business: BusinessID? = nil
    ) async throws -> [ReplayResult<ReplyID>] {
        try await changes.run {
            var results: [ReplayResult<ReplyID>] = []
            var dead: [JournalReply] = []
            for reply in try await self.currentReplies(replies, of: business) {
                if reply.isDeadLetter {
                    dead.append(reply)
                } else if let record = reply.retriedAs {
                    results.append(ReplayResult(of: reply.id, as: record, isRepetition: true))
                } else {
                    throw StoreError.replyNotDead(reply.id)
                }
            }
            return results + (dead.isEmpty ? [] : try await self.send(dead, as: edited))
        }
    }

    private func send(
        _ dead: [JournalReply], as edited: DecidedReply?
    ) async throws -> [ReplayResult<ReplyID>] {
        let messages = dead.map { $0.retry(as: edited) }
        let written = try await journal.append(
            zip(messages, dead).map { message, reply in
                JournalBody.message(message, replayOf: reply.id.record, retriedReply: reply.id.index)
            })
        for (message, record) in zip(messages, written) { addToOutbox(message, as: record) }
        return zip(dead, written).map { ReplayResult(of: $0.id, as: $1.number, isRepetition: false) }
    }

    /// Ends queued replies as dropped, and removes dead letters permanently.
    ///
    /// Returns the replies that were dropped before. The change is durable on return. When one of the replies
    /// is neither dead, queued nor dropped, none is dropped. Throws ``StoreError/beingSent(_:)`` when a reply
    /// is being sent: it can be dropped only after the attempt has failed, so the operator repeats the
    /// command. Throws ``StoreError/unknownReply(record:index:)`` and ``StoreError/replyNotDead(_:)``. With a
    /// `business`, the replies of other businesses count as unknown.
    package func drop(
        _ replies: [ReplyID], reason: String, of business: BusinessID? = nil
    ) async throws -> Set<ReplyID> {
        try await changes.run {
            let current = try await self.currentReplies(replies, of: business)
            if let other = current.first(where: { !$0.status.isDroppable }) {
                throw StoreError.replyNotDead(other.id)
            }
            let leased = try self.leaseToDrop(current.filter { $0.status == .queued }.map(\.id))
            for (position, entry) in leased.enumerated() {
                do { try await self.drop(entry, reason: reason) } catch {
                    for other in leased[position...] { self.release(other) }
                    throw error
                }
            }
            let dead = current.filter(\.isDeadLetter).map(\.id)
            if !dead.isEmpty {
                _ = try await self.journal.append(
                    dead.map { JournalBody.dropped(of: $0.record, reply: $0.index, at: .now()) })
            }
            return Set(current.filter { $0.status == .dropped }.map(\.id))
        }
    }

    /// Leases all of these replies, or none.
    private func leaseToDrop(_ replies: [ReplyID]) throws(StoreError) -> [OutboxEntry] {
        var leased: [OutboxEntry] = []
        for reply in replies {
            guard let entry = leaseReply(reply) else {
                for other in leased { release(other) }
                throw .beingSent(reply)
            }
            leased.append(entry)
        }
        return leased
    }

    /// Settles a reply as dropped, and waits for the conversation's line.
    ///
    /// Throws when the reply's end could not be written to the journal.
    private func drop(_ entry: OutboxEntry, reason: String) async throws {
        var failures = 0
        while true {
            do { return try await settle(entry, .dropped(reason: reason), leavesLine: failures >= 5) } catch {
                // The reply is dropped once its end is in the journal; the next start writes a line that is
                // missing.
                guard outbox.withQueue({ $0.entry(entry.id)?.end }) != nil else { throw error }
                failures += 1
                guard await pause(for: .milliseconds(200)) else { return }
            }
        }
    }

    private func currentReplies(
        _ replies: [ReplyID], of business: BusinessID?
    ) async throws -> [JournalReply] {
        let found = try await readingIndex { index throws(StoreError) in try index.replies(replies) }
        if let business, let other = found.first(where: { $0.business != business }) {
            throw StoreError.unknownReply(record: other.id.record, index: other.id.index)
        }
        return found
    }
}

extension ReplyState.Status {
    /// Whether an operator may drop a reply in this state, or has.
    fileprivate var isDroppable: Bool {
        switch self {
        case .queued, .refused, .expired, .failed, .dropped: true
        case .accepted, .erased, .retried: false
        }
    }
}
