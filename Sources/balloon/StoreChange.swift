import BalloonJSON
import BalloonPOSIX
import BalloonTransport
import MessageServer
import MessageStore

/// Changes of a data directory: by the server that owns it, or on the directory itself when none does.
///
/// Each returns when the change is on disk. A server makes it as a job, which runs to its end whatever becomes of the command.
enum StoreChange {
    /// Hands messages over again that are in the states that are named.
    static func replay(_ messages: [NamedState], data: String) async throws -> [ReplayResult] {
        try await change(
            data, "replay", { ReplayRequest(messages: messages).json(job: $0) }, { ReplayAnswer($0)?.results }
        ) { store in
            try await store.replay(messages)
        }
    }

    /// Takes messages off the dead letters; returns those that were dropped before.
    static func drop(_ records: [UInt64], data: String) async throws -> Set<UInt64> {
        try await change(
            data, "drop", { DropRequest(records: records).json(job: $0) },
            { DropRequest($0).map { Set($0.records) } }
        ) { store in
            try await store.dropDead(records)
        }
    }

    /// Ends messages that no handler has ended; returns those that were dropped before.
    static func dropPending(_ records: [UInt64], data: String) async throws -> Set<UInt64> {
        try await change(
            data, "events/drop", { DropRequest(records: records).json(job: $0) },
            { DropRequest($0).map { Set($0.records) } }
        ) { store in
            try await store.dropPending(records, reason: Store.droppedByOperator)
        }
    }

    /// Sends dead replies again, with the same ids, or the only one as `edited`; says as which records, also of those that were
    /// retried before.
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

    /// Ends queued replies without sending them, and removes dead ones from the dead letters; returns those that were dropped
    /// before.
    static func drop(_ replies: [ReplyID], data: String) async throws -> Set<ReplyID> {
        if replies.isEmpty { return [] }
        return try await change(
            data, "replies/drop", { ReplyRequest(replies).json(job: $0) },
            { ReplyAnswer($0)?.droppedBefore }
        ) { store in
            try await store.drop(replies, reason: ReplyRequest.operatorReason)
        }
    }

    /// Writes what is missing in the conversations; says which job does it, or waits for the one that is named.
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

    /// Gives up the records that the journal has lost, when `confirms` agrees to what that is; nil when it does not.
    ///
    /// Says which job does it, or waits for the one that is named.
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
            confirms(store.journalDamage) ? try await store.repairJournal() : nil
        }
    }

    private static func change<Result>(
        _ data: String, _ name: String, _ body: (String) -> [UInt8], _ read: ([UInt8]) -> Result?,
        resumedBy command: String? = nil, alone: (Store) async throws -> Result
    ) async throws -> Result {
        guard Directory.isDirectory(data) else {
            throw CommandFailure.noDataDirectory(path: terminalText(data))
        }
        // What a mistyped path names is not made a data directory.
        try Store.check(data)
        let job = ControlRoutes.newJob()
        if let answer = try await ControlSocket.run(
            job, "/" + name, body(job), data: data, resumedBy: command)
        {
            return try result(answer, read)
        }
        // Takes the lock, so that no server can begin meanwhile; the next one delivers.
        let store = try Store.open(
            StoreConfiguration(directory: data), logger: LogOptions.start())
        do {
            let result = try await alone(store)
            await store.close()
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
            throw CommandFailure.refused(status: 200, answer: "something that this program does not know")
        }
        return result
    }

    private static func body(job: String) -> [UInt8] {
        JSONWriter.object { $0.field("job", job) }
    }
}
