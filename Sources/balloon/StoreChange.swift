import BalloonPOSIX
import Logging
import MessageServer
import MessageStore

/// Changes a data directory through its running server, or directly when no server runs.
///
/// Each call returns when the change is on disk. A server executes the change as a job, which completes even
/// when the command ends early.
enum StoreChange {
    /// Erases customers, through the server or with the lock of the data directory.
    static func erase(
        _ request: ErasureRequest, _ settings: CustomerErasure.Settings, data: String
    ) async throws -> CustomerErasure.Report {
        try check(data)
        let done = try await ControlSocket.run(ControlOperations.erase, request, data: data)
        if let done { return done }
        var settings = settings
        settings.keepsPayments = request.keepsPayments
        try actAsOwner(of: data)
        let report = try Store.erase(request.customers, in: data, settings)
        audit("POST " + ControlOperations.erase.path, data, report.ledgerNames)
        return report
    }

    /// Throws unless a server created the data directory and the directory is readable.
    static func check(_ data: String) throws {
        guard Directory.isDirectory(data) else {
            throw CommandFailure.noDataDirectory(path: terminalText(data))
        }
        try Store.check(data)
    }

    /// Writes a change that this process made itself to the audit log; warns when that fails, because the change was made.
    ///
    /// `conversations` are the names of changed conversations in the ledger of erasures.
    static func audit(_ command: String, _ data: String, _ conversations: [String] = []) {
        var entry = AuditLog.Entry(command, by: .user(FileOwner.realUser), result: "done")
        entry.conversations = conversations
        append(entry, data)
    }

    private static func append(_ entry: AuditLog.Entry, _ data: String) {
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

    /// Performs an operation; nil when `confirms` refuses it for the opened store, which it is asked only without a server.
    ///
    /// With `command`, first prints how that command can resume the wait for the job. With `job`, starts nothing and waits for that job.
    static func run<Request, Result>(
        _ operation: ControlOperation<Request, Result>, _ request: Request, data: String,
        resumedBy command: String? = nil, resuming job: String? = nil, if confirms: (Store) -> Bool
    ) async throws -> Result? {
        if let job {
            return try result(try await ControlSocket(data: data).wait(for: job), operation.answer)
        }
        // Opening the store would create a missing data directory: a mistyped path must fail here instead.
        try check(data)
        do {
            let done = try await ControlSocket.run(operation, request, data: data, resumedBy: command)
            if let done { return done }
        } catch CommandFailure.refused(status: 400, let reason) where command == nil {
            // The command named a message or a reply that cannot be changed; the error does not point to the server's
            // log, because the reason is complete.
            throw CommandFailure.changeRefused(reason: reason)
        }
        guard !operation.needsServer else { throw CommandFailure.noServer(path: terminalText(data)) }
        // No server runs, so this process changes the directory itself. The directory's lock keeps a server from
        // starting meanwhile; the next server to start delivers the messages.
        try actAsOwner(of: data)
        let store = try Store.open(StoreConfiguration(directory: data), logger: LogOptions.start())
        do {
            var done: (result: Result, entry: AuditLog.Entry?)?
            if confirms(store) {
                let result = try await operation.perform(
                    request,
                    OperationScope(alone: store, dataDirectory: data, logger: Logger(label: "balloon")))
                done = (result, operation.entry(by: .user(FileOwner.realUser), request, result, store))
            }
            await store.close()
            if let entry = done?.entry { append(entry, data) }
            return done?.result
        } catch {
            await store.close()
            throw error
        }
    }

    /// Reads an answer of the server; throws when it has a form of a newer version.
    static func result<Result>(_ answer: [UInt8], _ read: ([UInt8]) -> Result?) throws -> Result {
        guard let result = read(answer) else {
            throw CommandFailure.refused(status: 200, answer: "an answer that this program cannot parse")
        }
        return result
    }
}

extension ControlOperation {
    /// Performs the operation through the running server, or directly when no server runs; returns when it is on disk.
    func run(
        _ request: Request, data: String, resumedBy command: String? = nil, resuming job: String? = nil
    ) async throws -> Result {
        guard
            let result = try await StoreChange.run(
                self, request, data: data, resumedBy: command, resuming: job, if: { _ in true })
        else { throw CommandFailure.noServer(path: terminalText(data)) }
        return result
    }
}
