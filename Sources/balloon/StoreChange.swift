import BalloonJSON
import BalloonPOSIX
import BalloonTransport
import Logging
import MessageServer
import MessageStore

/// Changes a data directory through its running server, or directly when no server runs.
///
/// Each call returns when the change is on disk. A server executes the change as a job, which completes even
/// when the command ends early.
enum StoreChange {
    /// Delivers finished messages again; returns the record of each replay.
    ///
    /// A message that was replayed after it had the given state is not replayed again; the result names that replay.
    static func replay(_ messages: [NamedState], data: String) async throws -> [ReplayResult] {
        try await change(
            data, "replay", { ReplayRequest(messages: messages).json(job: $0) }, { ReplayAnswer($0)?.results }
        ) { store in
            try await store.replay(messages)
        }
    }

    /// Delivers the selected messages again; returns the record of each replay.
    static func replay(_ selection: MessageSelection, data: String) async throws -> [ReplayResult] {
        try await change(
            data, "replay", { ReplayRequest(selection).json(job: $0) }, { ReplayAnswer($0)?.results }
        ) { store in
            try await store.replay(where: selection.chooses)
        }
    }

    /// Removes the selected messages from the dead letters; returns their records.
    static func drop(_ selection: MessageSelection, data: String) async throws -> [UInt64] {
        try await change(
            data, "drop", { DropRequest(selection).json(job: $0) }, { DropRequest($0)?.records }
        ) { store in
            try await store.dropDead(where: selection.chooses)
        }
    }

    /// Queues the selected replies once more; returns the new record of each.
    static func retryReplies(_ selection: MessageSelection, data: String) async throws -> [ReplyRetry] {
        try await change(
            data, "replies/retry", { ReplyRequest(selection).json(job: $0) }, { ReplyAnswer($0)?.retried }
        ) { store in
            try await store.retryReplies(where: selection.chooses)
        }
    }

    /// Removes the selected replies from the dead letters; returns their names.
    static func dropReplies(_ selection: MessageSelection, data: String) async throws -> [ReplyID] {
        try await change(
            data, "replies/drop", { ReplyRequest(selection).json(job: $0) }, { ReplyAnswer($0)?.dropped }
        ) { store in
            try await store.dropReplies(where: selection.chooses, reason: ReplyRequest.operatorReason)
        }
    }

    /// Removes messages from the dead letters; returns those that were dropped before.
    static func drop(_ records: [UInt64], data: String) async throws -> Set<UInt64> {
        try await change(
            data, "drop", { DropRequest(records: records).json(job: $0) },
            { DropRequest($0).map { Set($0.records) } }
        ) { store in
            try await store.dropDead(records)
        }
    }

    /// Ends pending messages as dropped; returns those that were dropped before.
    static func dropPending(_ records: [UInt64], data: String) async throws -> Set<UInt64> {
        try await change(
            data, "events/drop", { DropRequest(records: records).json(job: $0) },
            { DropRequest($0).map { Set($0.records) } }
        ) { store in
            try await store.dropPending(records, reason: Store.droppedByOperator)
        }
    }

    /// Queues replies that are dead letters once more, with the same ids; returns the new record of each reply.
    ///
    /// `edited` replaces the content and the id of a single reply. A reply that was retried before is not queued
    /// again; the result has the record of that retry.
    static func retry(
        _ replies: [ReplyID], as edited: DecidedReply? = nil, data: String
    ) async throws -> [ReplyRetry] {
        if replies.isEmpty { return [] }
        return try await change(
            data, "replies/retry", { ReplyRequest(replies, edited: edited).json(job: $0) },
            { ReplyAnswer($0)?.retried }
        ) { store in
            try await store.retry(replies, as: edited)
        }
    }

    /// Ends queued replies as dropped, and removes replies from the dead letters for good; returns those that were
    /// dropped before.
    static func drop(_ replies: [ReplyID], data: String) async throws -> Set<ReplyID> {
        if replies.isEmpty { return [] }
        return try await change(
            data, "replies/drop", { ReplyRequest(replies).json(job: $0) },
            { ReplyAnswer($0)?.droppedBefore }
        ) { store in
            try await store.drop(replies, reason: ReplyRequest.operatorReason)
        }
    }

    /// Has reversals that are dead letters tried again or dropped.
    static func apply(_ decision: ReversalDecision, data: String) async throws {
        if decision.attempts.isEmpty { return }
        try await change(
            data, "reversals/" + decision.action.rawValue, decision.json(job:), { _ in () }
        ) { store in
            try await decision.apply(
                to: store, dataDirectory: data, logger: Logger(label: "balloon"))
        }
    }

    /// Changes who answers in a conversation; returns the assignment after the change.
    static func assign(_ request: AssignmentRequest, data: String) async throws -> Assignment {
        try await change(
            data, "conversations/" + request.action.rawValue, { request.json(job: $0) },
            AssignmentRequest.assignment(in:)
        ) { store in
            try await store.assign(request.change, request.business, request.customer)
        }
    }

    /// Erases customers, through the server or with the lock of the data directory.
    static func erase(
        _ request: ErasureRequest, _ settings: CustomerErasure.Settings, data: String
    ) async throws -> CustomerErasure.Report {
        guard Directory.isDirectory(data) else {
            throw CommandFailure.noDataDirectory(path: terminalText(data))
        }
        try Store.check(data)
        let job = ControlRoutes.newJob()
        let answer = try await ControlSocket.run(
            job, "/erase", request.json(job: job), data: data, resumedBy: nil)
        if let answer { return try result(answer, CustomerErasure.Report.init) }
        var settings = settings
        settings.keepsPayments = request.keepsPayments
        try actAsOwner(of: data)
        let report = try Store.erase(request.customers, in: data, settings)
        audit("POST /erase", data, report.ledgerNames)
        return report
    }

    /// Writes a change that this process made itself to the audit log; warns when that fails, because the change was made.
    ///
    /// `conversations` are the names of changed conversations in the ledger of erasures.
    static func audit(_ command: String, _ data: String, _ conversations: [String] = []) {
        var entry = AuditLog.Entry(command, by: .user(FileOwner.realUser), result: "done")
        entry.conversations = conversations
        do throws(SystemError) { try AuditLog.append(entry, in: data) } catch {
            StandardStream.error.write("warning: the audit log cannot be written: \(error)\n")
        }
    }

    /// Gives a command of root the rights of a data directory's owner, to whom its new files then belong.
    static func actAsOwner(of data: String) throws(StoreError) {
        do throws(SystemError) { try FileOwner.actAsOwner(of: data) } catch {
            throw .unavailable(path: data, error)
        }
    }

    /// Restores missing conversation lines; prints the job that does it, or waits for the given job.
    static func rebuild(data: String, resuming job: String?) async throws -> Store.Rebuilt {
        if let job {
            return try await wait(for: job, data, ControlRoutes.rebuilt(in:))
        }
        return try await change(
            data, "rebuild", body(job:), ControlRoutes.rebuilt(in:),
            resumedBy: "balloon conversations rebuild"
        ) { store in
            try await store.rebuild()
        }
    }

    /// Removes what the businesses' `retention` no longer keeps; needs a running server, which has the index.
    static func trim(data: String, resuming job: String?) async throws -> TrimReport {
        if let job { return try await wait(for: job, data, TrimReport.init) }
        try Store.check(data)
        let job = ControlRoutes.newJob()
        let answer = try await ControlSocket.run(
            job, "/trim", body(job: job), data: data, resumedBy: "balloon conversations trim")
        guard let answer else { throw CommandFailure.noServer(path: terminalText(data)) }
        return try result(answer, TrimReport.init)
    }

    /// Removes lost records from the journal if `confirms` returns true for the list of losses; nil if not.
    ///
    /// When a server runs, it repairs the journal as a job, whose id is printed. With `job` nothing is started: the
    /// command waits for the job with this id.
    static func repair(
        data: String, resuming job: String?, confirms: (JournalRepair) -> Bool
    ) async throws -> JournalRepair? {
        if let job { return try await wait(for: job, data, JournalRepair.init) }
        guard Directory.isDirectory(data) else {
            throw CommandFailure.noDataDirectory(path: terminalText(data))
        }
        if let answer = try await ControlSocket.get("/damage", data: data),
            !confirms(try result(answer, JournalRepair.init))
        {
            return nil
        }
        return try await change(
            data, "repair", body(job:), { JournalRepair($0).map(Optional.some) },
            resumedBy: "balloon journal repair"
        ) { store in
            confirms(store.repairPreview) ? try await store.repairJournal() : nil
        }
    }

    private static func change<Result>(
        _ data: String, _ name: String, _ body: (String) -> [UInt8], _ read: ([UInt8]) -> Result?,
        resumedBy command: String? = nil, alone: (Store) async throws -> Result
    ) async throws -> Result {
        guard Directory.isDirectory(data) else {
            throw CommandFailure.noDataDirectory(path: terminalText(data))
        }
        // Opening the store would create a missing data directory: a mistyped path must fail here instead.
        try Store.check(data)
        let job = ControlRoutes.newJob()
        do {
            let answer = try await ControlSocket.run(
                job, "/" + name, body(job), data: data, resumedBy: command)
            if let answer { return try result(answer, read) }
        } catch CommandFailure.refused(status: 400, let reason) where command == nil {
            // The command named a message or a reply that cannot be changed; the error does not point to the server's
            // log, because the reason is complete.
            throw CommandFailure.changeRefused(reason: reason)
        }
        // No server runs, so this process changes the directory itself. The directory's lock keeps a server from
        // starting meanwhile; the next server to start delivers the messages.
        try actAsOwner(of: data)
        let store = try Store.open(
            StoreConfiguration(directory: data), logger: LogOptions.start())
        do {
            let result = try await alone(store)
            await store.close()
            audit("POST /" + name, data)
            return result
        } catch {
            await store.close()
            throw error
        }
    }

    private static func wait<Result>(
        for job: String, _ data: String, _ read: ([UInt8]) -> Result?
    ) async throws -> Result {
        try result(try await ControlSocket(data: data).wait(for: job), read)
    }

    private static func result<Result>(_ answer: [UInt8], _ read: ([UInt8]) -> Result?) throws -> Result {
        guard let result = read(answer) else {
            throw CommandFailure.refused(status: 200, answer: "an answer that this program cannot parse")
        }
        return result
    }

    private static func body(job: String) -> [UInt8] {
        JSONWriter.object { $0.field("job", job) }
    }
}
