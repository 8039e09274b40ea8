extension Store {
    /// Replays finished messages that are in the given states, like ``replay(_:)-([UInt64])``.
    ///
    /// A message that was replayed since then is not replayed again; the result has the record of that
    /// replay. Throws ``StoreError/unknownRecord(_:)``, ``StoreError/notFinished(record:)`` and
    /// ``StoreError/changed(record:now:)``; then no message is replayed.
    package func replay(_ named: [NamedState]) async throws -> [ReplayResult] {
        try await changes.run {
            var results: [ReplayResult] = []
            var chosen: [UInt64] = []
            let states = Dictionary(named.map { ($0.record, $0) }) { first, _ in first }
            for event in try await self.currentEvents(named.map(\.record)) {
                guard let named = states[event.record] else { continue }
                if let replay = event.replayedAs, replay != named.replay {
                    results.append(ReplayResult(record: event.record, replay: replay, isRepetition: true))
                    continue
                }
                guard event.isFinished else { throw StoreError.notFinished(record: event.record) }
                guard event.status == named.status else {
                    throw StoreError.changed(record: event.record, now: event.status)
                }
                chosen.append(event.record)
            }
            let replays = chosen.isEmpty ? [] : try await self.replay(chosen)
            return results
                + zip(chosen, replays).map { ReplayResult(record: $0, replay: $1, isRepetition: false) }
        }
    }

    /// Removes messages from the dead letters permanently, like ``drop(_:)``; returns those that were dropped before.
    ///
    /// Also throws ``StoreError/changed(record:now:)``, for a message that was retried.
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

    private func currentEvents(_ records: [UInt64]) async throws -> [JournalEvent] {
        // A message finished a moment ago may not be in the file yet.
        await journal.flush()
        return try await files.eventsOnQueue(records)
    }
}
