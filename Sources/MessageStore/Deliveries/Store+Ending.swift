import BalloonPOSIX
package import BusinessMessages

/// Ends messages without a handler: at an operator's command, after a business was removed, or for an
/// erasure.
extension Store {
    /// The reason that is journalled for a message that an operator dropped.
    package static let droppedByOperator = "dropped by an operator"

    /// Ends unfinished messages as dropped, even when their records are unreadable; durable when it returns.
    ///
    /// A message that only waits for its handler ends, too. Returns the records of the messages that were
    /// dropped before. Either all messages end or none, unless a handler gets one of them meanwhile. Throws ``StoreError/unknownRecord(_:)``;
    /// ``StoreError/notPending(record:)`` for a message that has ended in another way; and
    /// ``StoreError/notFinished(record:)`` for a message that a handler of a served business is processing.
    package func dropPending(
        _ records: [UInt64], reason: String, isServed: (BusinessID) -> Bool = { _ in true }
    ) async throws -> Set<UInt64> {
        var repeated: Set<UInt64> = []
        var found: [Lease] = []
        for record in Set(records).sorted() {
            guard let (lease, isLeased) = scheduler.find(record) else {
                try await checkDropped(record)
                repeated.insert(record)
                continue
            }
            if isLeased, !lease.pending.waitsForHandler, isServed(lease.conversation.business) {
                throw StoreError.notFinished(record: record)
            }
            found.append(lease)
        }
        try await end(
            found, as: .dropped(reason: reason),
            evenLeased: { $1.waitsForHandler || !isServed($0) })
        return repeated
    }

    /// The businesses with unfinished messages.
    package var pendingBusinesses: [BusinessID] { Array(scheduler.quotas.counts.keys) }

    /// Ends the unfinished messages of removed businesses as dead letters.
    ///
    /// A business's messages end only when the latest of them is older than `age`. Returns the number of
    /// ended messages.
    package func endPending(
        of removed: Set<BusinessID>, olderThan age: Duration, reason: String
    ) async throws -> Int {
        if removed.isEmpty { return 0 }
        let limit = journalState.now.advanced(by: .zero - age)
        let pending = try await reading { files in
            try files.events { !$0.isFinished && removed.contains($0.business) }
        }
        var latest: [BusinessID: Timestamp] = [:]
        for event in pending { latest[event.business] = max(latest[event.business] ?? event.at, event.at) }
        let old = pending.filter { latest[$0.business].map { $0 < limit } ?? false }
        let leases = old.compactMap { scheduler.find($0.record)?.lease }
        try await end(leases, as: .failed(reason: reason), evenLeased: { _, _ in true })
        return leases.count
    }

    /// Ends an unfinished message whose customer is being erased; false when a handler has the message.
    ///
    /// A leased message that waits for its handler, or that is held back, is not with a handler.
    func endErased(_ lease: Lease) throws(StoreError) -> Bool {
        let isHeld = held.holds(lease.pending.record)
        return try end(lease, as: .erased) { $0.waitsForHandler || isHeld }
    }

    private func end(
        _ leases: [Lease], as result: DeliveryResult,
        evenLeased: (BusinessID, PendingDelivery) -> Bool
    ) async throws {
        for lease in leases {
            guard try end(lease, as: result, evenLeased: { evenLeased(lease.conversation.business, $0) })
            else { throw StoreError.notFinished(record: lease.pending.record) }
        }
        // The flush includes the records above, so they are durable when it returns.
        await journal.flush()
        if !leases.isEmpty, let failure = journal.lastFailure { throw StoreError.notDurable(failure) }
    }

    /// Ends an unfinished delivery; false when it is absent, or is leased and `evenLeased` returns false for it.
    private func end(
        _ lease: Lease, as result: DeliveryResult, evenLeased: (PendingDelivery) -> Bool
    ) throws(StoreError) -> Bool {
        let pending = lease.pending
        // Remove the delivery from its queue first: a delivery that a handler gets meanwhile stays with the
        // handler, and no delivery is ended twice.
        let isEnded = scheduler.end(pending.record, of: lease.conversation) { pending, isLeased in
            !isLeased || evenLeased(pending)
        }
        guard isEnded else { return false }
        calls.end(pending.record)
        try journal.append(
            JournalBody.finished(
                of: pending.record, kind: pending.recording.kind, result.end(of: pending), at: .now()),
            for: .none)
        return true
    }

    private func checkDropped(_ record: UInt64) async throws {
        for event in try await currentEvents([record]) where event.status != .dropped {
            throw StoreError.notPending(record: record)
        }
    }
}
