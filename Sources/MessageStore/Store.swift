package import BalloonPOSIX
package import BalloonWire
import BusinessMessages
import Dispatch
package import Logging
import Synchronization

/// The durable core: the journal, the conversations and the deliveries of one data directory.
///
/// Stored messages are never lost. The messages of a conversation are delivered in order; unfinished ones are
/// delivered again after a restart.
package final class Store: Sendable {
    let deduplicator: Deduplicator
    let journal: Journal
    let scheduler: DeliveryScheduler
    let outbox = Outbox()
    let unwrittenLines = UnwrittenLines()
    /// The queue of changes for clients that follow events; it keeps nothing while no client follows.
    let feed = EventFeed()
    let gate: DiskCircuitBreaker
    let reader: SegmentReader
    let files: JournalFiles
    let conversations: ConversationPartitions
    let index: IndexedConversations
    let deliveryIndex: DeliveryIndex
    let acceptedMessages = AcceptedMessages()
    let checkpointer: Checkpointer
    let calls: InFlightCalls
    let states: HandlerStates
    /// The open requests to sign in or to pay.
    package let requests: OpenRequests
    /// The queue on which the store reads a conversation's file before it changes the conversation's
    /// assignment.
    let assignmentQueue = DispatchQueue(label: "balloon.assignments")
    let journalState: CurrentState
    let retention: Retention
    /// The damaged parts of the journal, and the deliveries held back because of them.
    let held: HeldConversations
    let snapshotter: Snapshotter
    /// The chain that runs operators' changes one at a time: each reads the journal before it appends
    /// records.
    let changes = TaskChain()
    /// The chain that runs erasures one at a time; each makes its change of files in `changes`.
    let erasing = TaskChain()
    private let erasureSettings: Mutex<CustomerErasure.Settings>
    /// Whether old lines of conversations are being removed.
    let isTrimming = Atomic(false)
    private let pauses = CancellableSleep()
    let logger: Logger
    let directory: String
    /// The arrival time of the latest message that an earlier process received; nil when there is none.
    package let latestRecoveredMessageAt: Timestamp?
    /// The data directory's identity, 32 hexadecimal digits, created once.
    package let identity: String
    /// The key with which the business API seals record numbers, created once.
    package let recordKey: Secret
    /// The last record of the backup from which the directory was restored, unless the operator resumes
    /// deliveries; else 0.
    private let parkedThrough: UInt64
    private let lock: Mutex<FileLock?>

    private init(
        _ configuration: StoreConfiguration, _ directory: DataDirectory, _ lock: FileLock, _ logger: Logger
    )
        throws(StoreError)
    {
        let result = try JournalRecovery(configuration, logger: logger)
        var recovered = result.state
        held = HeldConversations(result.damage)
        identity = try directory.identity()
        recordKey = try directory.recordKey()
        parkedThrough = try RestoredMark.read(in: directory)?.parkedThrough ?? 0
        index = IndexedConversations(directory, configuration, identity: identity, logger: logger)
        conversations = try ConversationPartitions(
            directory, configuration, feed: feed, index: index, logger: logger)
        scheduler = DeliveryScheduler(
            conversations, releaseBackoff: configuration.releaseBackoff,
            suspectPatience: configuration.suspectPatience)
        gate = DiskCircuitBreaker(scheduler, probeInterval: configuration.probeInterval, logger: logger)
        deduplicator = Deduplicator(
            index: recovered.index, scheduler: scheduler, outbox: outbox,
            memory: MemoryBudget(maximumBytes: configuration.maximumCachedBytes),
            maximumPendingDeliveries: configuration.maximumPendingDeliveries, pace: configuration.pace)
        files = JournalFiles(dataDirectory: configuration.directory)
        reader = SegmentReader(directory: directory.journal)
        deliveryIndex = DeliveryIndex(directory: directory.journal, reader: reader)
        var writer = JournalWriter(
            configuration, directory: directory.journal, reader: reader,
            nextRecord: recovered.state.nextRecord, ends: result.segments)
        let left: [UInt64: InFlightCalls.Step]
        (calls, left) = try countCrashes(
            directory, &recovered, &writer, wasTakenOver: configuration.wasTakenOver, logger)
        recovered.state.assignments.maximumAssigned = configuration.maximumAssignedConversations
        // Earlier versions did not name the change in its line; those of this time are known by their ids.
        recovered.state.assignments.removeChanges(
            before: .now().advanced(by: .zero - configuration.deduplicationWindow))
        journalState = CurrentState(recovered.state)
        requests = try OpenRequests(
            directory: directory.requests, logger: logger,
            isQueued: { [outbox] id in outbox.withQueue { $0.entry(id) != nil } },
            now: configuration.now)
        journal = Journal(writer, configuration: configuration) {
            [journalState, unwrittenLines, feed, gate, scheduler, outbox, deduplicator] entries, result in
            // The feed gets the records before a caller is resumed, which may add changes that must follow them.
            let assigned = journalState.settle(entries, result, feed: feed) {
                unwrittenLines.checkpoint(through: $0)
            }
            gate.record(result)
            // A person answers these conversations now, so waiting deliveries end at once, not at their next
            // attempt.
            for key in assigned {
                scheduler.resumeAll(of: key)
                if journalState.withAssignments({ $0.assignment(of: key).state == .person }) {
                    outbox.endPauses(of: key)
                }
            }
            deduplicator.settle(entries, result)
        }
        states = HandlerStates(directory: directory.states)
        snapshotter = Snapshotter(
            configuration, covered: result.covered, held: held, journal: journal, logger: logger,
            adopt: { [deduplicator] in deduplicator.adopt($0) }
        ) { [deduplicator, journalState, unwrittenLines] lastRecord in
            let index = deduplicator.indexCopy
            return journalState.withState { state in
                // Their lines are in the files, which are synced before the snapshot is used.
                state.removeEnded(through: unwrittenLines.checkpoint(through: lastRecord))
                return JournalSnapshot(of: state, index: index, through: lastRecord)
            }
        }
        checkpointer = Checkpointer(
            configuration, conversations: conversations,
            syncer: ConversationSyncer(conversations, directory: directory, configuration) { [journal] in
                journal.lastRecord
            }, journal: journal,
            recovery: ConversationRecovery(
                files: files, reader: reader, journal: journal, journalState: journalState,
                scheduler: scheduler,
                conversations: conversations), unwrittenLines: unwrittenLines,
            index: index, snapshotter: snapshotter, logger: logger)
        retention = Retention(
            configuration, directory: directory.journal, journalState: journalState,
            deliveryIndex: deliveryIndex, reader: reader,
            journal: journal, conversations: conversations, checkpointer: checkpointer,
            logger: logger)
        latestRecoveredMessageAt = recovered.state.latestMessageAt
        self.logger = logger
        self.directory = configuration.directory
        erasureSettings = Mutex(configuration.erasures)
        self.lock = Mutex(lock)
        index.prepare(isKept: configuration.keepsIndex)
        writeMissingLines(recovered, didAdvance: configuration.recoveryDidAdvance)
        let leases = recovered.leases(left: left, held: result.damage.held)
        scheduler.holdForSuspects(among: leases) { [calls] in calls.endAlone($0) }
        scheduler.add(leases)
        outbox.withQueue { $0.hold(result.damage.held) }
        enqueue(recovered.withQueuedReplies)
        retention.arm()
        snapshotter.begin(result)
        requests.begin()
        index.begin(checkpoint: recovered.state.ledger.checkpoint, lastRecord: recovered.state.nextRecord - 1)
        // Returns the memory that reading the journal used to the operating system.
        FreeMemory.trim()
    }

    /// Opens the data directory, created with mode 0700 if absent, and recovers its content.
    ///
    /// Throws a ``StoreError``: ``StoreError/inUse(path:process:)`` while another store has the directory
    /// open, ``StoreError/restoreUnfinished(path:)``, ``StoreError/unknownVersion(found:path:)``,
    /// ``StoreError/damaged(file:line:)``, ``StoreError/quarantined(file:)`` or
    /// ``StoreError/unavailable(path:_:)``.
    package static func open(_ configuration: StoreConfiguration, logger: Logger) throws -> Store {
        let directory = DataDirectory(path: configuration.directory)
        let lock = try directory.take(configuration.lock, isRestoring: configuration.isRestoring)
        var erasure = CustomerErasure(directory, configuration.erasures)
        erasure.files.rest = { _ in configuration.recoveryDidAdvance() }
        let report = try erasure.resume { error in
            logger.error(
                "an interrupted erasure stays unfinished, because its ledger cannot be used; the next erasure or start completes it",
                metadata: ["error": "\(error)"])
        }
        if let report {
            logger.notice(
                "an interrupted erasure was completed",
                metadata: [
                    "conversations": "\(report.conversations)", "records": "\(report.records)",
                    "contents": "\(report.contents)",
                ])
        }
        return try Store(configuration, directory, lock, logger)
    }

    /// The path of the ledger of erasures, and how long it keeps an entry.
    var erasures: CustomerErasure.Settings { erasureSettings.withLock { $0 } }

    /// Applies the settings of the deduplication, of unfinished messages and of erasures, and ignores all others.
    package func apply(_ configuration: StoreConfiguration) {
        deduplicator.apply(configuration)
        retention.apply(configuration)
        erasureSettings.withLock { $0 = configuration.erasures }
    }

    /// Stores a message unless it repeats a stored one; calls the completion once.
    ///
    /// May be called from any thread and never blocks. The completion must be short. It runs on the journal's
    /// queue, or at once on the caller's thread when the answer is known: a duplicate of a durable message, a
    /// limit reached, or a closed store. A caller that appends many messages passes false for `isPrompt` and
    /// calls ``beginWriting()`` after the last, so that the writer is woken once.
    package func append(
        _ message: ReceivedMessage, isPrompt: Bool = true, completion: @escaping AppendCompletion
    ) {
        deduplicator.append(message, to: journal, isPrompt: isPrompt, completion: completion)
    }

    /// Stores customers' messages that another server took: all of them or none, whatever limits are reached.
    ///
    /// Calls the completion once for each, as ``append(_:isPrompt:completion:)`` does.
    package func append(taken messages: [ReceivedMessage], completion: @escaping AppendCompletion) {
        deduplicator.append(taken: messages, to: journal, completion: completion)
    }

    /// The limit that a message reaches at present; nil when it would be stored.
    package func limit(of message: ReceivedMessage) -> StoreError? {
        do throws(StoreError) { try deduplicator.checkLimits(of: message) } catch { return error }
        return nil
    }

    /// Starts writing the messages that were appended with `isPrompt` set to false; fast when there are none.
    package func beginWriting() { journal.begin() }

    /// Whether the process was asked to stop: from then on, no delivery counts an attempt or a crash.
    package var isStopping: Bool { calls.isStopped }

    /// Records that the process was asked to stop; the record survives the end of the process, also by SIGKILL.
    ///
    /// May be called repeatedly, from any thread.
    package func recordStop() { calls.recordStop() }

    /// Stops leasing deliveries and references: waiting callers get nil, and ``pause(for:)`` returns at once.
    ///
    /// Leased deliveries may still be finished.
    package func stopLeasing() {
        scheduler.close()
        outbox.close()
        pauses.end()
    }

    /// Waits before a failed disk operation is retried.
    ///
    /// Returns false when the store stops or the task is cancelled; this process must not retry then.
    package func pause(for duration: Duration) async -> Bool { await pauses.pause(for: duration) }

    /// Returns why the message or the replies of a record must become dead letters; nil when they may be
    /// delivered or sent.
    ///
    /// There is a reason for the records of a restored backup: after the backup, the lost server may have
    /// delivered or sent them.
    package func reasonToPark(_ record: UInt64) -> String? {
        record <= parkedThrough ? RestoredMark.reason : nil
    }

    /// Calls `answer` on the journal's queue when the writer has completed its current batch; never blocks.
    ///
    /// Continuous arrivals delay the answer by at most two batches.
    package func checkJournal(_ answer: @escaping @Sendable () -> Void) { journal.flush(completion: answer) }

    /// Whether a disk write failed and deliveries are paused; never blocks.
    package var isHeldUp: Bool { gate.isHolding }

    /// Whether another server may have taken the store; never blocks.
    package var isOwnerInDoubt: Bool { gate.isInDoubt }

    /// Pauses deliveries and replies while another server may have taken the store, and resumes them.
    package func record(isOwner: Bool) {
        gate.record(isOwner: isOwner)
        if isOwner { outbox.wakeSender() }
    }

    /// Stops leasing deliveries, writes and syncs all records, and unlocks the directory.
    ///
    /// Callers that wait for a delivery get nil; every later call fails with ``StoreError/closed``.
    package func close() async {
        stopLeasing()
        await scheduler.stopRecording()
        await retention.close()
        await journal.flush()
        await checkpointer.close()
        await snapshotter.close()
        conversations.close()
        await index.close()
        await journal.close()
        feed.close()
        await requests.close()
        recordStop()
        lock.withLock { $0 = nil }
    }

    /// The error of the journal's last batch; nil after a success.
    ///
    /// Never waits for the disk.
    package var lastSyncFailure: SystemError? { journal.lastFailure }

    /// The error of the journal's last batch that failed in the last minute; never waits for the disk.
    ///
    /// `lastSyncFailure` alone is not enough: a nearly full disk stores small batches and refuses large
    /// ones.
    package var recentSyncFailure: SystemError? { journal.failure(within: .seconds(60)) }

    /// Counts for health checks and logs; never waits for the disk.
    package var statistics: StoreStatistics {
        let deliveries = scheduler.counts
        return StoreStatistics(
            pendingDeliveries: deliveries.pending, parkedDeliveries: deliveries.parked,
            unreadableDeliveries: deliveries.unreadable,
            queuedReplies: outbox.count, pendingReferences: scheduler.referenceCount,
            waitingBytes: journal.waitingBytes,
            lastSyncFailure: journal.lastFailure, indexedMessages: deduplicator.count,
            quarantinedConversations: conversations.quarantinedCount,
            refusedConversations: conversations.refusedCount, checkpointFailure: checkpointer.failure)
    }

    /// Restores, from the journal, the conversation lines that a power failure may have removed from the
    /// files.
    private func writeMissingLines(_ recovered: RecoveredJournal, didAdvance: @escaping @Sendable () -> Void)
    {
        let unwritten = recovered.unwritten
        let records = Set(recovered.undelivered.map(\.state.record)).union(unwritten.map(\.state.record))
        let unsettled = UnsettledRecords(records, last: recovered.state.nextRecord - 1)
        for partition in conversations.all { partition.withPool { $0.begin(behind: unsettled) } }
        var lines = Dictionary(grouping: unwritten, by: \.conversation)
        if recovered.state.isUnsynced {
            for message in recovered.undelivered { lines[message.conversation, default: []] += [] }
        }
        conversations.forEachInParallel(of: lines.keys) { [lines] partition, key in
            do throws(StoreError) {
                var entries: [ConversationEntry] = []
                for line in (lines[key] ?? []).flatMap(\.lines) { entries += try line.entries(from: reader) }
                try partition.reconcile(
                    conversations.name(of: key), with: entries, isSynced: !recovered.state.isUnsynced)
                checkpointer.recordWrite()
                didAdvance()
            } catch {
                // The store still opens; this conversation is written again before the next checkpoint.
                if case .quarantinedConversation = error { return }
                checkpointer.distrust(error)
            }
        }
    }
}

extension RecoveredJournal {
    /// Returns the unfinished deliveries in order, and marks the suspects of the last crash.
    ///
    /// A delivery is a suspect when it was leased at the crash. So is each delivery before it in its
    /// conversation: that delivery was leased earlier, and the crash lost the record of its end. The
    /// deliveries of the `held` conversations are not marked: they wait for a repair, and no other delivery
    /// may wait for them.
    fileprivate func leases(
        left: [UInt64: InFlightCalls.Step], held: Set<ConversationKey>
    ) -> [Lease] {
        /// The conversations in which the current message or a later one was leased at the crash.
        var suspected: Set<ConversationKey> = []
        var leases: [Lease] = []
        for message in undelivered.reversed() {
            var pending = PendingDelivery(message.state)
            let key = message.conversation
            let step = left[pending.record]
            let wasLeased = step?.isDelivery == true && !pending.isDecided && !held.contains(key)
            if wasLeased, !pending.isParked { suspected.insert(key) }
            pending.isRecordingSuspect = step?.isDelivery == false
            pending.isSuspect =
                pending.isParked ? wasLeased : suspected.contains(key) && !pending.awaitsReference
            // A suspect was leased before the crash, so its due time has passed. When a person answers the
            // conversation, the delivery ends at once, not at its next attempt.
            if pending.isSuspect || state.assignments.isWithPerson(pending.record, of: key) {
                pending.due = nil
            }
            leases.append(Lease(conversation: key, pending: pending))
        }
        return leases.reversed()
    }
}

/// Counts the last process's crash for the message that was delivered or recorded alone at that time.
///
/// Returns the file of calls, and the messages in it: they were delivered, resolved or recorded at the crash.
/// The crash is journalled before the file is cleared, so that every crash is counted.
private func countCrashes(
    _ directory: DataDirectory, _ recovered: inout RecoveredJournal, _ writer: inout JournalWriter,
    wasTakenOver: Bool, _ logger: Logger
) throws(StoreError) -> (InFlightCalls, left: [UInt64: InFlightCalls.Step]) {
    let (calls, left) = try InFlightCalls.open(directory.calls, keepsRecovered: wasTakenOver)
    let crashes = recovered.state.crashes(of: Set(left.filter(\.value.isAlone).keys))
    var written: [JournalledRecord] = []
    defer {
        for (place, crash) in crashes.enumerated() {
            // A crash without a record counts for this process.
            let record =
                place < written.count ? written[place] : JournalledRecord(number: 0, location: crash.message)
            recovered.apply(
                LocatedRecord(
                    record: crash.record.meaning, number: record.number, location: record.location))
        }
    }
    do throws(SystemError) {
        let entries = crashes.map { JournalEntry(record: $0.record, waiter: .none) }
        if !entries.isEmpty { written = try writer.commit(entries) }
        try calls.clear()
    } catch {
        // The lines stay in the file, so the next start counts these crashes.
        logger.error(
            "could not record that the previous server process crashed while it delivered messages; the next start tries again",
            metadata: ["error": "\(error)"])
    }
    return (calls, left)
}
