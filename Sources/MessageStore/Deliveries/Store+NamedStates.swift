package import BusinessMessages

extension Store {
    /// Replays finished messages like ``replay(_:)-([UInt64])``, if they are still in the named states.
    ///
    /// A message that was replayed after the operator saw its state is not replayed again: its result has the
    /// record of that replay. Throws ``StoreError/unknownRecord(_:)``, ``StoreError/notFinished(record:)``
    /// and ``StoreError/changed(record:now:)``; then no message is replayed.
    package func replay(_ named: [NamedState]) async throws -> [ReplayResult<UInt64>] {
        try await changes.run {
            var results: [ReplayResult<UInt64>] = []
            var chosen: [UInt64] = []
            let states = Dictionary(named.map { ($0.record, $0) }) { first, _ in first }
            for event in try await self.currentEvents(named.map(\.record)) {
                guard let named = states[event.record] else { continue }
                if let replay = event.replayedAs, replay != named.replay {
                    results.append(ReplayResult(of: event.record, as: replay, isRepetition: true))
                    continue
                }
                guard event.isFinished else { throw StoreError.notFinished(record: event.record) }
                guard event.status == named.status else {
                    throw StoreError.changed(record: event.record, now: event.status)
                }
                chosen.append(event.record)
            }
            let replays = chosen.isEmpty ? [] : try await self.replay(chosen)
            return results + zip(chosen, replays).map { ReplayResult(of: $0, as: $1, isRepetition: false) }
        }
    }

    /// Removes messages from the dead letters permanently; returns the records that were dropped before.
    ///
    /// Throws like ``drop(_:)``, and ``StoreError/changed(record:now:)`` for a message that was retried.
    package func dropDead(_ records: [UInt64]) async throws -> Set<UInt64> {
        try await changes.run {
            let events = try await self.currentEvents(records)
            if let retried = events.first(where: { $0.status == .retried }) {
                throw StoreError.changed(record: retried.record, now: .retried)
            }
            let repeated = events.filter { $0.status == .dropped }.map(\.record)
            let chosen = events.map(\.record).filter { !repeated.contains($0) }
            if !chosen.isEmpty { try await self.drop(chosen) }
            return Set(repeated)
        }
    }

    /// Replays the named messages of a business that are dead letters, durably before it returns.
    ///
    /// Returns one result for each record, in the order of the records; a record named twice has one result.
    /// A record of another business is unknown.
    package func replayDead(
        _ records: [UInt64], of business: BusinessID
    ) async throws -> [(record: UInt64, result: DeadLetterResult)] {
        try await changeDead(records, of: business) { chosen in
            zip(chosen, try await self.replay(chosen)).map { ($0, .replayed(as: $1)) }
        }
    }

    /// Drops the named messages of a business that are dead letters, durably before it returns.
    ///
    /// Returns one result for each record, as ``replayDead(_:of:)`` does.
    package func dropDead(
        _ records: [UInt64], of business: BusinessID
    ) async throws -> [(record: UInt64, result: DeadLetterResult)] {
        try await changeDead(records, of: business) { chosen in
            try await self.drop(chosen)
            return chosen.map { ($0, .dropped) }
        }
    }

    private func changeDead(
        _ records: [UInt64], of business: BusinessID,
        _ change: @escaping @Sendable ([UInt64]) async throws -> [(UInt64, DeadLetterResult)]
    ) async throws -> [(record: UInt64, result: DeadLetterResult)] {
        try await changes.run {
            let events = try await self.readingIndex { index throws(StoreError) in
                try index.events(Set(records))
            }.filter {
                $0.value.business == business && $0.value.outboundKind == nil
            }
            var results: [UInt64: DeadLetterResult] = [:]
            var chosen: [UInt64] = []
            for record in records where results[record] == nil && !chosen.contains(record) {
                if let result = DeadLetterResult(ofEnded: events[record]) {
                    results[record] = result
                } else {
                    chosen.append(record)
                }
            }
            if !chosen.isEmpty {
                for (record, result) in try await change(chosen) { results[record] = result }
            }
            var seen: Set<UInt64> = []
            return records.compactMap { record in
                seen.insert(record).inserted ? results[record].map { (record, $0) } : nil
            }
        }
    }

    /// Returns the messages of these records, in order and without duplicates; throws
    /// ``StoreError/unknownRecord(_:)``.
    func currentEvents(_ records: [UInt64]) async throws -> [JournalEvent] {
        try await readingIndex { index throws(StoreError) in try index.events(inOrder: records) }
    }
}

/// The result for one message that an operator named as a dead letter.
package enum DeadLetterResult: Hashable, Sendable {
    /// The message was replayed as this record.
    case replayed(as: UInt64)
    /// An earlier command had already replayed the message as this record.
    case alreadyReplayed(as: UInt64)
    /// The message was dropped, so it is no longer a dead letter.
    case dropped
    /// An earlier command had already dropped the message.
    case alreadyDropped
    /// The message is not a dead letter, or it reports a failed reply: the operator retries that reply
    /// instead.
    case notDead
    /// The business has no message with this record.
    case unknown

    /// The result for a message that is no dead letter; nil for a dead letter.
    package init?(ofEnded event: JournalEvent?) {
        guard let event else {
            self = .unknown
            return
        }
        if event.isDeadLetter, !event.isReplyFailure { return nil }
        if let replay = event.replayedAs {
            self = .alreadyReplayed(as: replay)
        } else {
            self = event.status == .dropped ? .alreadyDropped : .notDead
        }
    }
}
