package import BalloonPOSIX
package import BusinessMessages
import Dispatch
import Logging
import Synchronization

/// The open requests of a data directory, each in its own file in `requests`.
///
/// A start only lists the names. The files are read by the first operation that needs all of them, such as
/// the sweep once a minute. Changes run one after another on a queue, and several of them share the syncs of
/// their folders. A function returns when its change is durable; after an error, nothing has changed.
package final class OpenRequests: Sendable {
    /// The maximum number of operations that wait for the disk; further ones are refused.
    private static let maximumWaiting = 10_000
    /// The maximum number of operations that share a sync.
    private static let maximumBatch = 256
    private static let sweepInterval = DispatchTimeInterval.seconds(60)

    /// The changes of one batch, with the earlier values of the requests.
    private struct Batch {
        var undo: [(name: RequestName, old: OpenRequest?)] = []
        var folders: Set<String> = []
    }

    private typealias Operation = @Sendable (OpenRequests, inout Batch) -> @Sendable (StoreError?) -> Void

    private struct Waiting {
        var operations: [Operation] = []
        var isDraining = false
        var isClosed = false
    }

    private let files: RequestFiles
    private let logger: Logger
    private let now: @Sendable () -> Timestamp
    private let queue = DispatchQueue(label: "balloon.requests")
    private let waiting = Mutex(Waiting())
    /// The requests that were read or written; only code on the queue uses it.
    private let table = Mutex(RequestTable())
    /// The requests of earlier processes whose files are not read yet; only code on the queue uses it.
    private let unread: Mutex<[RequestName]>

    /// Lists the requests of earlier processes.
    init(
        directory: String, logger: Logger, now: @escaping @Sendable () -> Timestamp = { .now() }
    ) throws(StoreError) {
        files = RequestFiles(directory: directory)
        self.logger = logger
        self.now = now
        unread = Mutex(try files.names().requests)
    }

    /// Begins the removal of late requests, once a minute.
    func begin() { scheduleSweep() }

    /// Returns the request of a queued reply; when there is none, creates one with `make` durably.
    ///
    /// `make` generates the secret with the request. A repeated attempt to send the reply therefore gets the
    /// same secrets, even after a restart. When the customer has too many open requests, the oldest is
    /// removed. Throws ``StoreError/tooManyRequests(maximum:)``, and errors of the disk.
    package func request(
        of entry: ReplyID, make: @escaping @Sendable (Timestamp) -> (secret: String, request: OpenRequest)
    ) async throws -> OpenRequest {
        try await perform { store, batch in
            try store.readAll(&batch)
            if let name = store.table.withLock({ $0.name(of: entry) }), let found = try store.files.read(name)
            {
                return found
            }
            let (secret, request) = make(store.now())
            let (surplus, limit) = store.table.withLock { table in
                let surplus = table.surplus(of: request.business, request.customer)
                return (
                    surplus, table.exceededLimit(of: request.business, request.customer, replacing: surplus)
                )
            }
            if let limit { throw StoreError.tooManyRequests(maximum: limit) }
            if let surplus { try store.write(nil, as: surplus, &batch) }
            try store.write(request, as: RequestName(of: secret), &batch)
            return request
        }
    }

    /// Reads a request at once, without waiting for changes; nil when it does not exist.
    ///
    /// Blocks while it reads the file.
    package func find(_ name: RequestName) throws(StoreError) -> OpenRequest? { try files.read(name) }

    /// Reads all requests of a data directory, and counts the damaged files; works while a server runs.
    ///
    /// Throws when a folder or a file cannot be read.
    package static func read(
        dataDirectory: String
    ) throws(StoreError) -> (requests: [OpenRequest], unreadable: Int) {
        let files = RequestFiles(directory: DataDirectory(path: dataDirectory).requests)
        var (requests, unreadable): ([OpenRequest], Int) = ([], 0)
        for name in try files.names().requests {
            do throws(StoreError) {
                if let request = try files.read(name) { requests.append(request) }
            } catch {
                guard case .damaged = error else { throw error }
                unreadable += 1
            }
        }
        return (requests, unreadable)
    }

    /// Changes a request; `change` gets nil when there is none, and removes the request by setting nil.
    package func update<Value: Sendable>(
        _ name: RequestName,
        _ change: @escaping @Sendable (inout OpenRequest?, Timestamp) -> Value
    ) async throws -> Value {
        try await perform { store, batch in try store.change(name, &batch, change) }
    }

    /// Changes the request of a queued reply; `change` gets nil when there is none.
    package func update<Value: Sendable>(
        of entry: ReplyID, _ change: @escaping @Sendable (inout OpenRequest?, Timestamp) -> Value
    ) async throws -> Value {
        try await perform { store, batch in
            try store.readAll(&batch)
            return try store.change(store.table.withLock { $0.name(of: entry) }, &batch, change)
        }
    }

    /// Changes the request that has this identifier in its message; `change` gets nil when there is none.
    package func update<Value: Sendable>(
        _ requestIdentifier: String, of business: BusinessID,
        _ change: @escaping @Sendable (inout OpenRequest?, Timestamp) -> Value
    ) async throws -> Value {
        try await perform { store, batch in
            try store.readAll(&batch)
            let name = store.table.withLock { $0.name(of: business, requestIdentifier) }
            return try store.change(name, &batch, change)
        }
    }

    /// Returns the payments with a charge that may have to be reversed; first reads all unread files.
    package func busyPayments() async throws -> [RequestName] {
        try await perform { store, batch in
            try store.readAll(&batch)
            return store.table.withLock(\.busy)
        }
    }

    /// Returns the number of requests; first reads all unread files.
    package func count() async throws -> Int {
        try await perform { store, batch in
            try store.readAll(&batch)
            return store.table.withLock(\.count)
        }
    }

    /// Expires the requests whose time limit has passed, and removes those that ended a day ago.
    ///
    /// A request whose message the gateway did not accept in time is removed at once.
    package func sweep() async throws {
        try await perform { store, batch in
            try store.readAll(&batch)
            let now = store.now()
            for name in store.table.withLock({ $0.late(at: now) }) {
                try store.change(name, &batch) { request, now in
                    let hasEnded = request.map { !$0.phase.isOpen || $0.phase == .waiting } ?? true
                    if hasEnded { request = nil } else { request?.expire(at: now) }
                }
            }
        }
    }

    /// Removes the requests that satisfy `isErased`, except payments whose charge may have to be reversed.
    ///
    /// Returns the number of these payments.
    func remove(where isErased: @escaping @Sendable (OpenRequest) -> Bool) async throws -> Int {
        try await perform { store, batch in
            try store.readAll(&batch)
            var kept = 0
            for name in try store.files.names().requests {
                guard let request = try store.files.read(name), isErased(request) else { continue }
                if request.isBusy { kept += 1 } else { try store.write(nil, as: name, &batch) }
            }
            return kept
        }
    }

    /// Refuses further operations, and waits for the earlier ones.
    func close() async {
        waiting.withLock { $0.isClosed = true }
        await withCheckedContinuation { continuation in queue.async { continuation.resume() } }
    }

    private func scheduleSweep() {
        queue.asyncAfter(deadline: .now() + Self.sweepInterval) { [weak self] in
            guard let self, !waiting.withLock(\.isClosed) else { return }
            Task {
                do { try await self.sweep() } catch {
                    self.logger.warning(
                        "expired sign-in and payment requests could not be removed; that is tried again in a minute",
                        metadata: ["error": "\(error)"])
                }
                self.scheduleSweep()
            }
        }
    }

    private func perform<Value: Sendable>(
        _ body: @escaping @Sendable (OpenRequests, inout Batch) throws -> Value
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            let refusal = enqueue { store, batch in
                let changes = batch.undo.count
                let result = Result { try body(store, &batch) }
                // Undo only the changes of this operation, not those of earlier ones in the batch.
                if case .failure = result { store.undo(&batch, to: changes) }
                let hasChanged = batch.undo.count > changes
                return { error in
                    if hasChanged, let error { return continuation.resume(throwing: error) }
                    continuation.resume(with: result)
                }
            }
            if let refusal { continuation.resume(throwing: refusal) }
        }
    }

    private func enqueue(_ operation: @escaping Operation) -> StoreError? {
        let (refusal, begins) = waiting.withLock { waiting -> (StoreError?, Bool) in
            if waiting.isClosed { return (.closed, false) }
            if waiting.operations.count >= Self.maximumWaiting { return (.overloaded, false) }
            waiting.operations.append(operation)
            defer { waiting.isDraining = true }
            return (nil, !waiting.isDraining)
        }
        if begins { queue.async { [self] in drain() } }
        return refusal
    }

    /// Runs the waiting operations in batches; syncs each batch's folders once, then resumes its callers.
    private func drain() {
        while true {
            let operations = waiting.withLock { waiting in
                let operations = Array(waiting.operations.prefix(Self.maximumBatch))
                waiting.operations.removeFirst(operations.count)
                waiting.isDraining = !operations.isEmpty
                return operations
            }
            if operations.isEmpty { return }
            var batch = Batch()
            let ends = operations.map { $0(self, &batch) }
            var failure: StoreError?
            do throws(SystemError) {
                for folder in batch.folders { try Directory.synchronize(folder) }
            } catch {
                failure = .notDurable(error)
                undo(&batch, to: 0)
            }
            for end in ends { end(failure) }
        }
    }

    private func change<Value>(
        _ name: RequestName?, _ batch: inout Batch,
        _ change: (inout OpenRequest?, Timestamp) -> Value
    ) throws(StoreError) -> Value {
        var request: OpenRequest?
        if let name { request = try files.read(name) }
        let old = request
        let value = change(&request, now())
        if let name, request != old { try write(request, as: name, replacing: old, &batch) }
        return value
    }

    private func write(_ request: OpenRequest?, as name: RequestName, _ batch: inout Batch) throws(StoreError)
    {
        try write(request, as: name, replacing: try files.read(name), &batch)
    }

    private func write(
        _ request: OpenRequest?, as name: RequestName, replacing old: OpenRequest?, _ batch: inout Batch
    ) throws(StoreError) {
        // Add this before the write: if the write fails, the file may have either content, and must be
        // restored.
        batch.undo.append((name, old))
        do throws(SystemError) { batch.folders.formUnion(try files.write(request, as: name)) } catch {
            throw .notDurable(error)
        }
        table.withLock { $0.set(name, to: request) }
    }

    /// Restores the requests of the changes after the first `count`, after an error of the disk.
    private func undo(_ batch: inout Batch, to count: Int) {
        while batch.undo.count > count {
            let (name, old) = batch.undo.removeLast()
            table.withLock { $0.set(name, to: old) }
            do throws(SystemError) { batch.folders.formUnion(try files.write(old, as: name)) } catch {
                // The file may keep a change that the caller was told had failed; a consumed request can then
                // not be used.
                logger.warning(
                    "a change to a sign-in or payment request failed and could not be undone on the disk; the next start may read the changed request",
                    metadata: ["error": "\(error)"])
            }
        }
    }

    /// Reads the files of earlier processes into the table, if that was not done yet.
    private func readAll(_ batch: inout Batch) throws(StoreError) {
        let names = unread.withLock { $0 }
        if names.isEmpty { return }
        var damaged = 0
        for name in names where !table.withLock({ $0.holds(name) }) {
            do throws(StoreError) {
                guard let request = try files.read(name) else { continue }
                table.withLock { $0.set(name, to: request) }
            } catch {
                guard case .damaged = error else { throw error }
                damaged += 1
            }
        }
        unread.withLock { $0 = [] }
        if damaged > 0 {
            logger.warning(
                "files of sign-in and payment requests are damaged; run balloon conversations verify",
                metadata: ["files": "\(damaged)"])
        }
    }
}
