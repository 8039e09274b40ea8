import BalloonPOSIX
import Dispatch
import Logging
import Synchronization

/// Keeps the files of the owner's data directory in PostgreSQL, before the store counts them as durable.
///
/// A change names a file, not bytes: a transaction takes what the changed files have then, for all that came during the one
/// before. So a transaction whose outcome is unknown is simply made again, and nothing follows it before it is known.
final class FileCopier: DurableCopy {
    /// A caller that waits until the changes of some files are kept.
    private final class Waiter: Sendable {
        private let files: Atomic<Int>
        private let isLost = Atomic(false)
        private let semaphore = DispatchSemaphore(value: 0)

        init(files: Int) { self.files = Atomic(files) }

        /// Ends the wait for one file.
        func end(isKept: Bool) {
            if !isKept { isLost.store(true, ordering: .relaxed) }
            if files.subtract(1, ordering: .acquiringAndReleasing).newValue == 0 { semaphore.signal() }
        }

        /// Waits for all files; nil after `time`, and false when one is not kept.
        func wait(_ time: Duration) -> Bool? {
            semaphore.wait(timeout: .now() + time.dispatchInterval) == .success
                ? !isLost.load(ordering: .relaxed) : nil
        }
    }

    private struct Change {
        /// Whether the content began anew, instead of growing.
        var isReplaced = false
        var waiters: [Waiter] = []
    }

    private struct State {
        /// The files with a change that no transaction has taken, in order.
        var order = Deque<String>()
        var changes: [String: Change] = [:]
        /// The waiters for the present transaction.
        var waiters: [String: [Waiter]] = [:]
        var isRunning = false
        /// When the present transaction, or what is tried again, began.
        var began = Duration.zero
        var isEnded = false
        /// The file `replica.changes`: see ``ReplicaMark``.
        var replaced: File?

        /// The files with changes that are not kept yet.
        var unkept: Set<String> { Set(changes.keys).union(waiters.keys) }
    }

    /// The row of a file in the database.
    private struct Kept {
        var sizeBytes: Int64
        var version: Int64
        var began: Int64
    }

    /// The state of the queue.
    private struct Work {
        /// Whether the database behind this connection has what it confirmed.
        var isChecked = false
        var kept: [String: Kept] = [:]
        /// The number of the latest transaction, whether it was kept or not.
        var number: Int64 = 0
        /// The new content of large files, of which a part is in the database and does not count yet.
        var partial: [String: (version: Int64, at: Int)] = [:]
    }

    let files: KeptFiles
    var root: String { files.root }
    private let epoch: Int64
    let term: String
    /// The last change before the term.
    private let after: Int64
    private let form: PieceForm
    private let patience: Duration
    private let connection: ReplicaConnection
    private let lost: @Sendable () -> Void
    private let logger: Logger
    private let queue = DispatchQueue(label: "balloon.replica")
    private let state = Mutex(State())
    /// Only the queue locks it, so nobody waits for it.
    private let work = Mutex(Work())
    /// The number of the last kept change: the greatest one in the table `file`.
    private let last: Atomic<Int64>
    private let failures = Atomic<UInt64>(0)

    private static let maximumFiles = 256
    private static let pieceBytes = 256 << 10
    /// How much of a large file a transaction takes, so that the journal waits for no attachment.
    private static let partBytes = 1 << 20
    private static let maximumBatchBytes = 4 << 20
    private static let maximumKnownFiles = 50_000

    /// Begins after the change `number` as the owner of `epoch`; `lost` is called when another replica is the owner, or the
    /// database lost changes.
    init(
        _ files: KeptFiles, _ settings: ReplicaSettings, epoch: Int64, term: String, after number: Int64,
        logger: Logger,
        connect: @escaping @Sendable () throws(PostgresError) -> PostgresConnection,
        lost: @escaping @Sendable () -> Void
    ) {
        (self.files, self.epoch, self.logger, self.lost) = (files, epoch, logger, lost)
        connection = ReplicaConnection(connect)
        (self.term, after) = (term, number)
        (form, patience) = (settings.form, settings.patience)
        last = Atomic(number)
    }

    /// The name of a content that began with the change `number`; greater than all of former owners, which may have left pieces
    /// of contents that they did not end.
    static func version(_ number: Int64, of epoch: Int64) -> Int64 { epoch << 40 | number & (1 << 40 - 1) }

    /// The files with a change that is not kept yet, and how many transactions failed; a failed one is made again.
    var backlog: (files: Int, failures: UInt64) {
        (state.withLock { $0.changes.count + $0.waiters.count }, failures.load(ordering: .relaxed))
    }

    /// How long the present transaction has taken, with its repetitions.
    var transactionTime: Duration {
        state.withLock { $0.isRunning ? SystemClock.sinceBoot() - $0.began : .zero }
    }

    /// Whether nothing is kept any more.
    var isEnded: Bool { state.withLock(\.isEnded) }

    func change(_ paths: [String], _ change: () throws(SystemError) -> Void) throws(SystemError) {
        let names = paths.compactMap(files.relative).filter(KeptFiles.keeps)
        if names.isEmpty { return try change() }
        // The queue opens files under this lock, so it never takes the old content for the new or the new for the old.
        try state.withLock { state throws(SystemError) in
            // Before the change, so that a crash cannot leave a replaced file that is not listed.
            try list(names, &state)
            try change()
            for name in names { note(name, isReplaced: true, &state) }
            start(&state)
        }
    }

    func synchronize(_ paths: [String]) throws(SystemError) {
        let names = paths.compactMap(files.relative).filter(KeptFiles.keeps)
        if names.isEmpty { return }
        try wait { state in
            for name in names { note(name, isReplaced: false, &state) }
            return names
        }
    }

    func synchronize(entriesOf folder: String) throws(SystemError) {
        try wait { state in
            state.unkept.filter { Directory.parent(of: files.absolute($0)) == folder }
        }
    }

    /// Waits until all earlier changes are kept.
    func synchronize() throws(SystemError) {
        try wait { Array($0.unkept) }
    }

    /// Keeps files that the database does not have.
    func keep(_ names: [String]) {
        state.withLock { state in
            for name in names { note(name, isReplaced: true, &state) }
            start(&state)
        }
    }

    /// Begins to list the replaced files anew, and returns the number of the last kept change.
    func beginMark() throws(SystemError) -> Int64 {
        try state.withLock { state throws(SystemError) in
            let file = try File(files.absolute(ReplicaMark.changes), for: .appending)
            try file.truncate(to: 0)
            state.replaced = file
            // Files that still wait to be kept stay listed.
            try list(state.unkept.sorted(), &state)
            return lastNumber
        }
    }

    /// The number of the last kept change.
    var lastNumber: Int64 { last.load(ordering: .acquiring) }

    /// Sets what a mark says when all until the change `number` is on this disk.
    func advance(_ mark: inout ReplicaMark, through number: Int64) {
        if number > after { (mark.through, mark.term) = (number, term) }
    }

    /// Keeps nothing any more; later changes fail.
    func end() { state.withLock { $0.isEnded = true } }

    private func list(_ names: [String], _ state: inout State) throws(SystemError) {
        if names.isEmpty { return }
        if state.replaced == nil {
            state.replaced = try File(files.absolute(ReplicaMark.changes), for: .appending)
        }
        try state.replaced?.append(names.flatMap { Array($0.utf8) + [UInt8(ascii: "\n")] })
    }

    private func note(_ name: String, isReplaced: Bool, _ state: inout State, waiters: [Waiter] = []) {
        if state.changes[name] == nil { state.order.append(name) }
        if isReplaced { state.changes[name, default: Change()].isReplaced = true }
        state.changes[name, default: Change()].waiters += waiters
    }

    /// Waits until the files that `note` returns are kept.
    private func wait(_ note: (inout State) -> [String]) throws(SystemError) {
        let waiter = try state.withLock { state throws(SystemError) -> Waiter? in
            if state.isEnded { throw .notKept }
            let names = note(&state)
            let waiter = Waiter(files: names.count)
            for name in names {
                if state.changes[name] != nil {
                    state.changes[name]?.waiters.append(waiter)
                } else {
                    state.waiters[name, default: []].append(waiter)
                }
            }
            start(&state)
            return names.isEmpty ? nil : waiter
        }
        guard let waiter else { return }
        while true {
            // A large file takes many transactions.
            let limit = state.withLock { $0.began + patience }
            let isKept = waiter.wait(max(.zero, limit - SystemClock.sinceBoot()))
            if isKept == true { return }
            if isKept == false || limit == state.withLock({ $0.began + patience }) { throw .notKept }
        }
    }

    private func start(_ state: inout State) {
        if state.isRunning || state.isEnded || state.order.isEmpty { return }
        (state.isRunning, state.began) = (true, SystemClock.sinceBoot())
        queue.async { self.work.withLock { self.drain(&$0) } }
    }

    /// A changed file of a transaction: open, so that it is the file that was noted; nil when it is removed.
    private struct Taken {
        let name: String
        let isReplaced: Bool
        let file: File?
    }

    private func drain(_ work: inout Work) {
        while true {
            let taken = take()
            if taken.isEmpty { break }
            let unfinished = keep(taken, &work)
            state.withLock { state in
                let waiters = state.waiters
                (state.waiters, state.began) = ([:], SystemClock.sinceBoot())
                for one in taken {
                    if let isReplaced = unfinished?[one.name] {
                        note(one.name, isReplaced: isReplaced, &state, waiters: waiters[one.name] ?? [])
                    } else {
                        for waiter in waiters[one.name] ?? [] { waiter.end(isKept: unfinished != nil) }
                    }
                }
            }
        }
        if isEnded { work = Work() }
    }

    /// Takes the files of the next transaction; none when there is nothing to do any more.
    private func take() -> [Taken] {
        state.withLock { state in
            var taken: [Taken] = []
            while !state.isEnded, taken.count < Self.maximumFiles, let name = state.order.popFirst() {
                let change = state.changes.removeValue(forKey: name) ?? Change()
                state.waiters[name] = change.waiters
                taken.append(
                    Taken(
                        name: name, isReplaced: change.isReplaced,
                        file: try? File(files.absolute(name), for: .reading)))
            }
            if taken.isEmpty { state.isRunning = false }
            return taken
        }
    }

    /// Keeps the files, however often the connection is lost.
    ///
    /// Returns the files that need a further transaction, with whether their content begins anew; nil when this replica is no
    /// longer the owner.
    private func keep(_ taken: [Taken], _ work: inout Work) -> [String: Bool]? {
        var failures = 0
        while !isEnded {
            do throws(PostgresError) {
                if let unfinished = try keepOnce(taken, &work) { return unfinished }
                // After a release, the next server may have the store before a late change is here.
                if isEnded { return nil }
                end()
                lost()
            } catch {
                // The database may have these files as they were before, or as they are now.
                (work.kept, work.isChecked) = ([:], false)
                if failures % 100 == 0 {
                    logger.error(
                        "the store cannot be written; trying again", metadata: ["reason": "\(error)"])
                }
                failures += 1
                self.failures.add(1, ordering: .relaxed)
                // The first time at once, because only the connection may have ended.
                if failures == 1 { continue }
                _ = DispatchSemaphore(value: 0).wait(timeout: .now() + 0.1)
            }
        }
        return nil
    }

    /// Whether the database has the last kept change.
    ///
    /// If not, the mark names that change, so that a start on this directory is refused, and this server ends.
    private func hasLast() throws(PostgresError) -> Bool {
        let number = last.load(ordering: .relaxed)
        let rows = try connection.run(ReplicaTerm.check, [.text(term), .number(number)])
        if rows.first?[0].number == 1 { return true }
        if isEnded { return false }
        logger.critical(
            "the store's database lacks a change that it confirmed; this server ends",
            metadata: ["number": "\(number)"])
        // Before the mark is written, which would wait for this queue.
        end()
        if var mark = try? ReplicaMark(in: root) {
            advance(&mark, through: number)
            try? mark.write(in: root)
        }
        lost()
        return false
    }

    private func keepOnce(_ taken: [Taken], _ work: inout Work) throws(PostgresError) -> [String: Bool]? {
        if !work.isChecked {
            guard try hasLast() else { return nil }
            work.isChecked = true
        }
        // One that is made again has another number: followers may have read the first, which the database kept without an
        // answer, and files have grown since.
        work.number = max(work.number, last.load(ordering: .relaxed)) + 1
        let number = work.number
        let newVersion = Self.version(number, of: epoch)
        let known = try known(taken.map(\.name), &work)
        var batch = Batch(epoch: epoch, number: number)
        var unfinished: [String: Bool] = [:]
        var partial = work.partial
        var isTransaction = false
        for one in taken {
            guard batch.sizeBytes < Self.maximumBatchBytes else {
                unfinished[one.name] = one.isReplaced
                continue
            }
            if one.isReplaced { partial[one.name] = nil }
            let before = known[one.name]
            guard let file = one.file, let size = try? file.sizeBytes() else {
                partial[one.name] = nil
                if let before, before.sizeBytes >= 0 {
                    batch.end(one.name, sizeBytes: -1, version: newVersion, began: number)
                }
                continue
            }
            let isNew = one.isReplaced || before.map { $0.sizeBytes < 0 || $0.sizeBytes > size } ?? true
            let part = partial[one.name] ?? (isNew ? (version: newVersion, at: 0) : nil)
            var at = part?.at ?? Int(before?.sizeBytes ?? 0)
            let version = part?.version ?? before?.version ?? newVersion
            if part == nil, at == size { continue }
            let end = part == nil ? size : min(size, at + Self.partBytes)
            while at < end {
                // A file that was truncated meanwhile is noted again.
                let bytes = (try? file.read(at: at, count: min(Self.pieceBytes, end - at))) ?? []
                if bytes.isEmpty { break }
                batch.add(form.write(bytes), of: one.name, version: version, at: at)
                at += bytes.count
                // A growing file counts up to its size, so nothing behind it may stay when this replica ends.
                guard part == nil, batch.sizeBytes >= Self.maximumBatchBytes else { continue }
                if !isTransaction { try connection.run("BEGIN") }
                isTransaction = true
                guard try batch.send(over: connection) else { return nil }
            }
            if part != nil, at == end, at < size {
                partial[one.name] = (version, at)
                unfinished[one.name] = false
            } else {
                partial[one.name] = nil
                batch.end(
                    one.name, sizeBytes: at, version: version,
                    began: part == nil ? before?.began ?? number : number)
            }
        }
        if !batch.isEmpty {
            guard try batch.send(over: connection) else { return nil }
            if isTransaction { try connection.run("COMMIT") }
            // A part of a large file changes no row of `file`, so followers never see the number of its transaction.
            if !batch.ended.isEmpty { last.store(number, ordering: .releasing) }
        }
        work.partial = partial
        if work.kept.count > Self.maximumKnownFiles { work.kept = [:] }
        for file in batch.ended {
            work.kept[file.name] = Kept(sizeBytes: file.sizeBytes, version: file.version, began: file.began)
        }
        return unfinished
    }

    private func known(
        _ names: [String], _ work: inout Work
    ) throws(PostgresError) -> [String: Kept] {
        var result: [String: Kept] = [:]
        for name in names { result[name] = work.kept[name] }
        let unknown = names.filter { result[$0] == nil }
        if unknown.isEmpty { return result }
        for row in try connection.run(
            "SELECT path, size, version, began FROM balloon.file WHERE path = ANY($1)", [.texts(unknown)])
        {
            result[row[0].text] = Kept(
                sizeBytes: row[1].number, version: row[2].number, began: row[3].number)
        }
        return result
    }
}

/// The changes of one transaction.
private struct Batch {
    struct Ended {
        let name: String
        let sizeBytes: Int64
        let version: Int64
        let began: Int64
    }

    let epoch: Int64
    let number: Int64
    private(set) var sizeBytes = 0
    private(set) var ended: [Ended] = []
    private var pieces: (names: [String], versions: [Int64], at: [Int64], bytes: [[UInt8]]) = ([], [], [], [])
    private var unsent = 0

    init(epoch: Int64, number: Int64) { (self.epoch, self.number) = (epoch, number) }

    var isEmpty: Bool { ended.isEmpty && pieces.names.isEmpty }

    mutating func add(_ bytes: [UInt8], of name: String, version: Int64, at: Int) {
        pieces.names.append(name)
        pieces.versions.append(version)
        pieces.at.append(Int64(at))
        pieces.bytes.append(bytes)
        sizeBytes += bytes.count
    }

    /// The file now counts up to `sizeBytes`; -1 removes it.
    mutating func end(_ name: String, sizeBytes: Int, version: Int64, began: Int64) {
        ended.append(Ended(name: name, sizeBytes: Int64(sizeBytes), version: version, began: began))
    }

    /// Sends what was added since the last call; returns false when another replica is the owner.
    ///
    /// The lock on the owner's row lasts until the commit, so nobody becomes the owner in between.
    mutating func send(over connection: ReplicaConnection) throws(PostgresError) -> Bool {
        let new = ended[unsent...]
        let rows = try connection.run(
            """
            WITH mine AS MATERIALIZED (SELECT 1 FROM balloon.owner WHERE epoch = $1 FOR KEY SHARE),
            pieces AS (
                INSERT INTO balloon.piece SELECT * FROM unnest($3::text[], $4::bigint[], $5::bigint[], $6::bytea[])
                WHERE EXISTS (SELECT FROM mine)
                ON CONFLICT (path, version, at) DO UPDATE SET content = excluded.content),
            files AS (
                INSERT INTO balloon.file
                SELECT *, $2::bigint FROM unnest($7::text[], $8::bigint[], $9::bigint[], $10::bigint[])
                WHERE EXISTS (SELECT FROM mine)
                ON CONFLICT (path) DO UPDATE SET size = excluded.size, version = excluded.version,
                    began = excluded.began, number = excluded.number),
            former AS (
                DELETE FROM balloon.piece USING unnest($7::text[], $9::bigint[], $10::bigint[]) AS new (path, version, began)
                WHERE piece.path = new.path AND piece.version < new.version AND new.began = $2
                AND EXISTS (SELECT FROM mine))
            SELECT 1::bigint FROM mine
            """,
            [
                .number(epoch), .number(number), .texts(pieces.names), .numbers(pieces.versions),
                .numbers(pieces.at), .pieces(pieces.bytes), .texts(new.map(\.name)),
                .numbers(new.map(\.sizeBytes)), .numbers(new.map(\.version)), .numbers(new.map(\.began)),
            ], name: "keep")
        pieces = ([], [], [], [])
        sizeBytes = 0
        unsent = ended.count
        return !rows.isEmpty
    }
}
