import BalloonPOSIX
package import BusinessMessages
import Dispatch

/// Erasing customers while the store is open.
extension Store {
    /// The maximum time to wait until handlers and senders have finished with the erased customers' messages.
    private static let patience = Duration.seconds(600)

    /// Erases these customers up to the journal's last record, while messages arrive; durable on return.
    ///
    /// Unfinished deliveries and queued replies of the customers are ended. One that a handler or a sender is
    /// working on is ended after that call; when the call does not end, this function throws
    /// ``StoreError/notFinished(record:)`` or ``StoreError/beingSent(_:)``. Later messages are kept and
    /// delivered. After an error or a crash, the next start completes the erasure.
    package func erase(
        _ customers: Set<CustomerID>, keepsPayments: Bool = false,
        configure: (inout CustomerErasure.Settings) -> Void = { _ in }
    ) async throws -> CustomerErasure.Report {
        var settings = erasures
        settings.keepsPayments = keepsPayments
        configure(&settings)
        return try await erasing.run { [settings] in try await self.eraseNow(customers, settings) }
    }

    private func eraseNow(
        _ customers: Set<CustomerID>, _ settings: CustomerErasure.Settings
    ) async throws -> CustomerErasure.Report {
        defer {
            for lease in held.endErasure() {
                _ = scheduler.release(lease.pending.record, of: lease.conversation)
            }
        }
        guard let permit = try FileChangePermit(dataDirectory: directory) else {
            throw StoreError.backupRunning(process: nil)
        }
        defer { withExtendedLifetime(permit) {} }
        var erasure = CustomerErasure(DataDirectory(path: directory), settings)
        erasure.files.rest = { duration in
            // Blocks the erasure's own queue.
            _ = DispatchSemaphore(value: 0).wait(timeout: .now() + duration.dispatchInterval)
        }
        let work = erasure
        // An erasure that failed before is completed first, because its job would be lost otherwise.
        if let unfinished = try await onErasureQueue({ () throws(StoreError) in try work.unfinished() }) {
            held.beginErasure(of: Set(unfinished.conversations.map(\.customer)))
            _ = try await run(unfinished, work)
        }
        await journal.flush()
        let all = try await onErasureQueue { () throws(StoreError) in try work.linked(to: customers) }
        // From before the last erased record is known, no handler gets a message of the customers: with a later
        // message, it would get the erased state and lines, and its answer could repeat them.
        held.beginErasure(of: all)
        await journal.flush()
        let through = journal.lastRecord
        let found = try await onErasureQueue { () throws(StoreError) in
            try work.find(all, through: through)
        }
        guard !found.conversations.isEmpty else {
            var report = CustomerErasure.Report()
            report.unreached = try work.quarantinedSegments()
            return report
        }
        var report = try await run(found, work)
        report.linked = all.subtracting(customers)
        return report
    }

    /// Erases a scope, and with it what a handler that was running, or an operator, has added to it meanwhile.
    ///
    /// Other operators' changes wait only for the erasure itself, and not for the calls that it waits for.
    private func run(
        _ scope: ErasureScope, _ work: CustomerErasure
    ) async throws -> CustomerErasure.Report {
        let limit = ContinuousClock.now + Self.patience
        try await onErasureQueue { () throws(StoreError) in try work.begin(scope) }
        var known = scope
        while true {
            try await endAll(of: known, before: limit)
            let (extended, report) = try await changes.run { [known] in
                let extended = try await self.onErasureQueue { () throws(StoreError) in
                    let extended = try work.extended(known)
                    try work.begin(extended)
                    return extended
                }
                guard try await self.endIdle(of: extended) == nil else {
                    return (extended, CustomerErasure.Report?.none)
                }
                try await self.finishEnding()
                return (extended, try await self.complete(work, extended))
            }
            if let report { return report }
            known = extended
        }
    }

    /// Ends the unfinished deliveries and the queued replies; waits for those that are leased.
    private func endAll(of scope: ErasureScope, before limit: ContinuousClock.Instant) async throws {
        while let busy = try await endIdle(of: scope) {
            guard ContinuousClock.now < limit else { throw busy }
            guard await pause(for: .milliseconds(20)) else { throw StoreError.closed }
        }
        try await finishEnding()
    }

    /// Waits until lines that are being written are in their files, and their records on disk.
    private func finishEnding() async throws {
        await scheduler.finishRecordings()
        await journal.flush()
        if let failure = journal.lastFailure { throw StoreError.notDurable(failure) }
    }

    /// Ends the deliveries and replies that are not leased; returns an error that names a leased one, if any.
    private func endIdle(of scope: ErasureScope) async throws -> StoreError? {
        var busy: StoreError?
        for lease in scheduler.all where scope.holds(lease.conversation, lease.pending.record) {
            if try !endErased(lease) { busy = .notFinished(record: lease.pending.record) }
        }
        for queued in outbox.withQueue(\.all) where scope.holds(queued.conversation, queued.id.record) {
            guard let entry = leaseReply(queued.id) else {
                // The reply may have ended since the queue was read.
                if outbox.withQueue({ $0.entry(queued.id) }) != nil { busy = .beingSent(queued.id) }
                continue
            }
            do {
                try await settle(entry, .erased, leavesLine: true)
            } catch {
                release(entry)
                throw error
            }
        }
        return busy
    }

    private func complete(
        _ work: CustomerErasure, _ scope: ErasureScope
    ) async throws -> CustomerErasure.Report {
        var report = CustomerErasure.Report()
        report.conversations = scope.conversations.count
        // A change that was being written when its entry was removed adds the entry again.
        while journalState.withState({
            $0.assignments.remove { scope.holds($0) && scope.erases($1, record: $1.record) }
        }) {
            await journal.flush()
        }
        try await states.excluding { () throws(StoreError) in
            try work.removeStates(scope)
        }
        let busy = try await requests.erase(keepsRecords: scope.paymentsThrough == nil) { scope.holds($0) }
        let (lines, damaged) = try await retention.excluding {
            // The segment ends after a running round, which may still copy the text of an erased dead letter to it.
            let last = self.journal.lastRecord
            await self.journal.endSegment()
            self.journalState.withState { state in
                for letter in state.ledger.deadLetters.keys where scope.subjects.contains(letter.record) {
                    state.ledger.recordDecision(about: letter)
                }
            }
            return try await self.onErasureQueue { () throws(StoreError) in
                try work.journal.rewrite(scope, through: last) { self.reader.remove(firstRecord: $0) }
            }
        }
        report.records = lines
        deliveryIndex.forget()
        await snapshotter.discard()
        // The contents of the erased conversations are older than the second in which the reading begins.
        if !scope.contents.isEmpty {
            try await onErasureQueue { () throws(StoreError) in work.files.rest(.milliseconds(1100)) }
        }
        let began = SystemClock.secondsSince1970()
        // Read after `began`: a content that is stored before is in this set, or in a record that the flush writes.
        let unrecorded = work.settings.unrecordedContents()
        await journal.flush()
        report.contents = try await onErasureQueue { () throws(StoreError) in
            try work.removeScratch(scope)
            try work.removePayments(scope)
            let contents = try work.removeContents(scope, unrecorded: unrecorded, olderThan: began)
            for conversation in scope.conversations { try self.removeLines(of: conversation, scope, work) }
            return contents
        }
        index.rebuild()
        feed.reset()
        report.unreached = try damaged + work.quarantinedSegments()
        if busy > 0 { report.unreached.append(work.directory.requests) }
        report.ledgerNames = work.ledgerNames(scope)
        try await onErasureQueue { () throws(StoreError) in try work.finish() }
        return report
    }

    private func removeLines(
        of conversation: ErasedConversation, _ scope: ErasureScope, _ work: CustomerErasure
    ) throws(StoreError) {
        let name = ConversationName(ConversationDigest(of: conversation.customer), in: conversation.business)
        try conversations.partition(of: name).withPool { pool throws(StoreError) in
            // The lines of messages that came after the erasure began.
            let isLater = { (entry: ConversationEntry) in
                entry.record > scope.through && !scope.subjects.contains(entry.record)
            }
            try pool.replace(name, keeping: isLater) { () throws(StoreError) in
                try work.removeLines(of: conversation, scope)
            }
        }
    }

    /// Runs `body` on a dispatch queue that no other work uses, because it blocks for a long time.
    private func onErasureQueue<Result: Sendable>(
        _ body: @escaping @Sendable () throws(StoreError) -> Result
    ) async throws -> Result {
        try await DispatchQueue(label: "balloon.erasure").run(body)
    }
}

extension ErasureScope {
    /// Whether a message with this record in this conversation is erased.
    fileprivate func holds(_ key: ConversationKey, _ record: UInt64) -> Bool {
        holds(key) && (record <= through || subjects.contains(record))
    }
}
