package import BalloonPOSIX
import BusinessMessages
import Dispatch
import Logging
import Synchronization

/// The open requests of a data directory, each in its own file in `requests`.
///
/// A start only lists the names. The files are then read in slices: between two slices run the operations that
/// know a request's name, such as callbacks, and the others wait until all files are read. An operation on many
/// files also runs in slices. Changes run one after another on a queue, and several of them share the syncs of
/// their folders. A function returns when its change is durable; after an error, nothing has changed.
package final class OpenRequests: Sendable {
    /// The maximum number of operations that wait for the disk; further ones are refused.
    private static let maximumWaiting = 10_000
    /// The maximum number of operations that share a sync.
    private static let maximumBatch = 256
    private static let sweepInterval = DispatchTimeInterval.seconds(60)
    /// The time after which an operation on many files lets others run.
    static let sliceTime = Duration.milliseconds(5)

    /// The changes of one batch, with the earlier values of the requests.
    private struct Batch {
        /// The error for the operations that need all files, because reading them has failed.
        var readingFailure: StoreError?
        var undo: [(name: RequestName, old: OpenRequest?)] = []
        var folders: Set<String> = []
    }

    private typealias Operation = @Sendable (OpenRequests, inout Batch) -> @Sendable (StoreError?) -> Void

    private struct Waiting {
        var operations: [Operation] = []
        /// The operations that need the requests of all files.
        var held: [Operation] = []
        /// Whether the requests of all files are in the table.
        var isComplete: Bool
        /// Whether a file could not be read since the last operation was held.
        var hasFailed = false
        var isDraining = false
        var isClosed = false

        var isFull: Bool { max(operations.count, held.count) >= OpenRequests.maximumWaiting }

        /// Whether the next slice is due.
        ///
        /// After ``OpenRequests/close()`` and after an error, only held operations need the files.
        var isReading: Bool { !isComplete && (!held.isEmpty || !isClosed && !hasFailed) }

        /// Lets the held operations run before the others.
        mutating func releaseHeld() {
            operations.insert(contentsOf: held, at: 0)
            held = []
        }
    }

    private let files: RequestFiles
    private let logger: Logger
    private let now: @Sendable () -> Timestamp
    private let isQueued: @Sendable (ReplyID) -> Bool
    private let sliceTime: Duration
    private let queue = DispatchQueue(label: "balloon.requests")
    private let waiting: Mutex<Waiting>
    /// The requests that were read or written; only code on the queue uses it.
    private let table = Mutex(RequestTable())
    /// The files of earlier processes; only code on the queue uses it.
    private let earlier: Mutex<Earlier>

    /// The files of earlier processes.
    private struct Earlier {
        var unread: [RequestName]
        var damaged: [RequestName] = []
    }

    /// Lists the requests of earlier processes.
    ///
    /// `isQueued` tells whether a reply has not ended. `sliceTime` is another one in tests only.
    init(
        directory: String, logger: Logger, isQueued: @escaping @Sendable (ReplyID) -> Bool = { _ in false },
        sliceTime: Duration = OpenRequests.sliceTime,
        now: @escaping @Sendable () -> Timestamp = { .now() }
    ) throws(StoreError) {
        files = RequestFiles(directory: directory)
        self.logger = logger
        self.now = now
        self.isQueued = isQueued
        self.sliceTime = sliceTime
        let names = try files.names().requests
        earlier = Mutex(Earlier(unread: names))
        waiting = Mutex(Waiting(isComplete: names.isEmpty))
    }

    /// Begins to read the files, and the removal of late requests, once a minute.
    func begin() {
        let begins = waiting.withLock { waiting in
            defer { waiting.isDraining = true }
            return !waiting.isDraining
        }
        if begins { queue.async { [self] in drain() } }
        scheduleSweep()
    }

    /// The number of operations that wait until all files are read.
    var heldCount: Int { waiting.withLock(\.held.count) }

    /// Returns the request of a queued reply; when there is none, creates one with `make` durably.
    ///
    /// `make` generates the secret with the request. A repeated attempt to send the reply therefore gets the
    /// same secrets, even after a restart. When the customer has too many open requests, the oldest is
    /// removed. Throws ``StoreError/tooManyRequests(maximum:)``, and errors of the disk.
    package func request(
        of entry: ReplyID, make: @escaping @Sendable (Timestamp) -> (secret: String, request: OpenRequest)
    ) async throws -> OpenRequest {
        try await perform(afterReading: true) { store, batch in
            if let name = store.table.withLock({ $0.name(of: entry) }), let found = try store.files.read(name)
            {
                return found
            }
            let (secret, request) = make(store.now())
            let (surplus, limit) = store.table.withLock { table in
                let surplus = table.surplus(
                    of: request.business, request.customer, isQueued: store.isQueued)
                return (
                    surplus, table.exceededLimit(of: request.business, request.customer, replacing: surplus)
                )
            }
            if let limit { throw StoreError.tooManyRequests(maximum: limit) }
            if let surplus { try store.write(nil, as: surplus, &batch) }
            // Two, so that a business whose earlier release kept more gets below the limit.
            for _ in 1...2 {
                let ended = store.table.withLock {
                    $0.endedSurplus(of: request.business, isQueued: store.isQueued)
                }
                if let ended { try store.write(nil, as: ended, &batch) }
            }
            try store.write(request, as: RequestName(of: secret), &batch)
            return request
        }
    }

    /// Reads a request at once, without waiting for changes; nil when it does not exist.
    ///
    /// Blocks while it reads the file. When the name comes from outside, the caller asks a ``RequestClaim``
    /// whether the request agrees.
    package func find(_ name: RequestName) throws(StoreError) -> OpenRequest? { try files.read(name) }

    /// Changes a request whose name the server itself knows.
    ///
    /// `change` gets nil when there is none, and removes the request by setting nil.
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
        try await perform(afterReading: true) { store, batch in
            try store.change(store.table.withLock { $0.name(of: entry) }, &batch, change)
        }
    }

    /// Changes the request that something from outside names, if the request agrees with the claim.
    ///
    /// `change` always gets a request, and removes it by setting nil.
    package func update<Value: Sendable>(
        _ claim: RequestClaim,
        _ change: @escaping @Sendable (inout OpenRequest?, Timestamp) -> Value
    ) async throws -> ClaimedRequest<Value> {
        var isByIdentifier = false
        if case .identifier = claim.subject { isByIdentifier = true }
        return try await perform(afterReading: isByIdentifier) { store, batch in
            let name: RequestName
            switch claim.subject {
            case .name(let named): name = named
            case .identifier(let identifier):
                switch store.table.withLock({ $0.name(of: identifier, claim) }) {
                case .agreed(let found): name = found
                case .other: return .other
                case .unknown: return .unknown
                }
            }
            return try store.change(name, &batch) { request, now in
                guard let found = request else { return .unknown }
                return claim.agrees(with: found) ? .agreed(change(&request, now)) : .other
            }
        }
    }

    /// Returns the payments with a charge that may have to be reversed, when all files are read.
    package func busyPayments() async throws -> [RequestName] {
        try await perform(afterReading: true) { store, _ in store.table.withLock { Array($0.busy) } }
    }

    /// Returns the number of requests, when all files are read.
    package func count() async throws -> Int {
        try await perform(afterReading: true) { store, _ in store.table.withLock(\.count) }
    }

    /// Expires the requests whose time limit has passed, and removes those that ended a day ago.
    ///
    /// A request whose message the gateway did not accept in time is removed at once. An ended request whose
    /// reply is still queued stays, so that the repeated message does not ask the customer a second time.
    package func sweep() async throws {
        let late = try await perform(afterReading: true) { store, _ in
            store.table.withLock { $0.late(at: store.now()) }
        }
        try await forEach(late) { store, name, batch in
            try store.change(name, &batch) { request, now in
                guard let found = request, found.isLate(at: now) else { return }
                if found.phase.isOpen, found.phase != .waiting {
                    request?.expire(at: now)
                } else if !store.isQueued(found.entry) {
                    request = nil
                }
            }
        }
    }

    /// Removes the requests of the conversations that satisfy `isErased`, except payments whose charge may have
    /// to be reversed.
    ///
    /// These payments are removed when their charge is settled; returns their number. `keepsRecords` is false
    /// if the lines of the payments are erased too. Throws when a file that may belong to a conversation is
    /// damaged.
    func erase(
        keepsRecords: Bool, where isErased: @escaping @Sendable (ConversationKey) -> Bool
    ) async throws -> Int {
        let erased = try await perform(afterReading: true) { store, _ in
            for name in store.earlier.withLock(\.damaged) { _ = try store.files.read(name) }
            return store.table.withLock { $0.names(where: isErased) }
        }
        let kept = Mutex(0)
        try await forEach(erased) { store, name, batch in
            try store.change(name, &batch) { request, _ in
                if request?.isBusy ?? false { kept.withLock { $0 += 1 } }
                request?.erase(keepsRecords: keepsRecords)
            }
        }
        return kept.withLock { $0 }
    }

    /// Does `work` with each name, in slices between which other operations run.
    private func forEach(
        _ names: [RequestName],
        _ work: @escaping @Sendable (OpenRequests, RequestName, inout Batch) throws -> Void
    ) async throws {
        var next = 0
        while next < names.count {
            next = try await perform { [next] store, batch in
                let end = ContinuousClock.now + store.sliceTime
                var index = next
                repeat {
                    try work(store, names[index], &batch)
                    index += 1
                } while index < names.count && .now < end
                return index
            }
        }
    }

    /// Refuses further operations, and waits for the earlier ones.
    func close() async {
        waiting.withLock { $0.isClosed = true }
        await queue.run {}
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

    /// Runs `body` on the queue, and returns when its changes are durable.
    ///
    /// With `afterReading`, it runs when the requests of all files are in the table.
    private func perform<Value: Sendable>(
        afterReading: Bool = false,
        _ body: @escaping @Sendable (OpenRequests, inout Batch) throws -> Value
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            let refusal = enqueue(afterReading: afterReading) { store, batch in
                let changes = batch.undo.count
                let result = Result {
                    if afterReading, let error = batch.readingFailure { throw error }
                    return try body(store, &batch)
                }
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

    private func enqueue(afterReading: Bool, _ operation: @escaping Operation) -> StoreError? {
        let (refusal, begins) = waiting.withLock { waiting -> (StoreError?, Bool) in
            if waiting.isClosed { return (.closed, false) }
            if waiting.isFull { return (.overloaded, false) }
            if afterReading, !waiting.isComplete {
                waiting.held.append(operation)
                waiting.hasFailed = false
            } else {
                waiting.operations.append(operation)
            }
            defer { waiting.isDraining = true }
            return (nil, !waiting.isDraining)
        }
        if begins { queue.async { [self] in drain() } }
        return refusal
    }

    /// Runs the waiting operations in batches; syncs each batch's folders once, then resumes its callers.
    ///
    /// Reads a slice of the files of earlier processes between two batches.
    private func drain() {
        while true {
            let (operations, isOver) = waiting.withLock { waiting in
                let operations = Array(waiting.operations.prefix(Self.maximumBatch))
                waiting.operations.removeFirst(operations.count)
                waiting.isDraining = !operations.isEmpty || waiting.isReading
                return (operations, !waiting.isDraining)
            }
            if isOver { return }
            run(operations)
            if waiting.withLock(\.isReading) { readSlice() }
        }
    }

    private func run(_ operations: [Operation], failing readingFailure: StoreError? = nil) {
        guard !operations.isEmpty else { return }
        var batch = Batch(readingFailure: readingFailure)
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
        let request = request.flatMap { $0.isErased && !$0.isBusy ? nil : $0 }
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

    /// Reads some files of earlier processes into the table; at their end, releases the held operations.
    ///
    /// An error of the disk fails the held operations; the next operation that needs all files repeats the
    /// reading.
    private func readSlice() {
        let end = ContinuousClock.now + sliceTime
        do throws(StoreError) {
            repeat {
                guard let name = earlier.withLock(\.unread.last) else { return completeReading() }
                try read(name)
                earlier.withLock { _ = $0.unread.popLast() }
            } while .now < end
        } catch {
            fail(error)
        }
    }

    /// Reads one file into the table, unless this process has changed the request.
    private func read(_ name: RequestName) throws(StoreError) {
        if table.withLock({ $0.holds(name) }) { return }
        do throws(StoreError) {
            guard let request = try files.read(name) else { return }
            table.withLock { $0.set(name, to: request) }
        } catch {
            guard case .damaged = error else { throw error }
            earlier.withLock { $0.damaged.append(name) }
        }
    }

    private func completeReading() {
        let damaged = earlier.withLock(\.damaged.count)
        if damaged > 0 {
            logger.warning(
                "files of sign-in and payment requests are damaged; run balloon conversations verify",
                metadata: ["files": "\(damaged)"])
        }
        waiting.withLock { waiting in
            waiting.isComplete = true
            waiting.releaseHeld()
        }
    }

    /// Runs the held operations, so that each throws `error`.
    private func fail(_ error: StoreError) {
        let held = waiting.withLock { waiting in
            defer { (waiting.held, waiting.hasFailed) = ([], true) }
            return waiting.held
        }
        run(held, failing: error)
    }
}
