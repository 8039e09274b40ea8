import BalloonPOSIX
package import Logging

/// A server of a store in PostgreSQL: it follows the owner into its own data directory, and takes the store when the owner has
/// released it or is silent for the lease.
///
/// Its calls block, on a queue of its own.
package actor Replica {
    private let executor = QueueExecutor(label: "balloon.replica.follower")
    package nonisolated var unownedExecutor: UnownedSerialExecutor {
        unsafe executor.asUnownedSerialExecutor()
    }
    private let settings: ReplicaSettings
    private let files: KeptFiles
    private let logger: Logger
    private let lost: @Sendable () -> Void
    private let now: @Sendable () -> Duration
    private var mark: ReplicaMark?
    /// The name of this server before the machine restarted.
    private var formerReplica: String?
    private var connection: PostgresConnection?
    /// The last change that is in the directory; nil until the directory was compared with the store.
    private var place: (number: Int64, path: String, term: String)?
    private var seen: (owner: Owner, silence: Duration, last: Duration)?
    private var marked = Duration.zero

    private struct Owner: Equatable {
        var epoch: Int64
        var replica: String
        var beat: Int64
    }

    /// How often ``step()`` is meant to be called.
    package static let interval = Duration.milliseconds(200)
    private static let markInterval = Duration.seconds(30)
    private static let pageFiles = 500
    /// How many changes a directory may lack before it is compared with the store; half of what the store remembers.
    static let maximumBehind: Int64 = 1_000_000
    /// Pieces that are read at once.
    private static let pagePieces = 16

    /// Creates a replica for a directory that exists and whose lock the caller holds.
    ///
    /// `lost` is called when another server has taken the store from the owner; without it the process ends with 75, so that
    /// its supervisor starts it again and it follows.
    package init(
        _ settings: ReplicaSettings, directory: String, logger: Logger, lost: (@Sendable () -> Void)? = nil,
        now: @escaping @Sendable () -> Duration = SystemClock.sinceBoot
    ) throws(ReplicaError) {
        guard let root = ProcessPaths.resolved(directory) else {
            throw .unusable("\(directory) does not exist")
        }
        (self.settings, self.logger, self.now, files) = (settings, logger, now, KeptFiles(root: root))
        self.lost =
            lost ?? {
                logger.critical("another server has taken the store; this one ends, so that it can follow")
                StandardStream.error.write("error: another server has taken the store\n")
                ProcessEnd.exitAtOnce(ProcessEnd.temporaryFailure)
            }
    }

    /// Copies the changes of the store into the directory, and takes the store if nobody has it; returns it then.
    ///
    /// Blocks for as long as there is something to copy. After ``ReplicaError/unreachable(_:)`` it can be called again.
    package func step() throws(ReplicaError) -> OwnedStore? {
        do {
            let connection = try opened()
            if place == nil { try join(connection) }
            try follow(connection)
            guard let epoch = try take(connection) else {
                try markAtTimes(connection)
                return nil
            }
            // The former owner cannot write any more, so this is all.
            try follow(connection, isAlone: true)
            return try own(epoch, connection)
        } catch {
            (connection, seen) = (nil, nil)
            throw error as? ReplicaError ?? (error as? PostgresError).map(ReplicaError.init)
                ?? .unusable("the data directory cannot be written: \(error)")
        }
    }

    /// Creates the tables or adds what is missing.
    package static func migrate(_ url: String) throws(ReplicaError) {
        do throws(PostgresError) {
            try ReplicaSchema.migrate(try PostgresConnection(url, name: "balloon migrate"))
        } catch { throw ReplicaError(error) }
    }

    /// The servers that joined in the last day; reads only.
    package static func list(_ url: String) throws(ReplicaError) -> [Member] {
        do throws(PostgresError) {
            let connection = try PostgresConnection(url, name: "balloon status")
            try ReplicaSchema.check(connection)
            return try connection.run(
                """
                SELECT r.id, r.host, r.id = o.replica, extract(epoch FROM now() - r.seen)::bigint
                FROM balloon.replica r CROSS JOIN balloon.owner o WHERE r.seen > now() - interval '1 day' ORDER BY r.host, r.id
                """
            ).map { row in
                Member(
                    id: row[0].text, host: row[1].text, isOwner: row[2].content == [1],
                    secondsSinceSeen: Int(row[3].number))
            }
        } catch { throw ReplicaError(error) }
    }

    /// How many messages wait for an owner, and how many no owner could store; reads only.
    package static func takenMessages(_ url: String) throws(ReplicaError) -> (waiting: Int, refused: Int) {
        do throws(PostgresError) {
            let rows = try PostgresConnection(url, name: "balloon status").run(
                "SELECT count(*) FILTER (WHERE NOT refused), count(*) FILTER (WHERE refused) FROM balloon.intake"
            )
            return (Int(rows[0][0].number), Int(rows[0][1].number))
        } catch { throw ReplicaError(error) }
    }

    /// Seals what is not sealed with the present key, or unseals it without one; returns how many pieces that were.
    ///
    /// The content stays the same, so servers go on meanwhile; each must have the keys of both forms. It can be repeated.
    package static func reseal(_ settings: ReplicaSettings) throws(ReplicaError) -> Int {
        do {
            let connection = try PostgresConnection(settings.url, name: "balloon reseal")
            try ReplicaSchema.check(connection)
            var place: [PostgresValue] = [.text(""), .number(0), .number(0)]
            var count = 0
            while true {
                let rows = try connection.run(
                    """
                    SELECT path, version, at, content FROM balloon.piece WHERE (path, version, at) > ($1, $2, $3)
                    ORDER BY path, version, at LIMIT \(pagePieces)
                    """, place, name: "reseal", within: .seconds(30))
                for row in rows {
                    place = [.text(row[0].text), .number(row[1].number), .number(row[2].number)]
                    guard let renewed = try settings.form.renewed(row[3].content) else { continue }
                    // A server may have changed or removed the piece meanwhile.
                    let changed = try connection.run(
                        """
                        UPDATE balloon.piece SET content = $4
                        WHERE (path, version, at) = ($1, $2, $3) AND content = $5 RETURNING 1::bigint
                        """, place + [.bytes(renewed), .bytes(row[3].content)], within: .seconds(30))
                    count += changed.count
                }
                if rows.count < pagePieces { return count }
            }
        } catch {
            throw error as? ReplicaError ?? (error as? PostgresError).map(ReplicaError.init)
                ?? .unusable("\(error)")
        }
    }

    /// How many standbys of PostgreSQL copy its changes, and whether a commit waits for one; reads only.
    package static func standbys(_ url: String) throws(ReplicaError) -> (count: Int, isAwaited: Bool) {
        do throws(PostgresError) {
            let connection = try PostgresConnection(url, name: "balloon doctor")
            try ReplicaSchema.check(connection)
            let rows = try connection.run(
                "SELECT count(*), (current_setting('synchronous_standby_names') <> '')::int::bigint FROM pg_stat_replication"
            )
            return (Int(rows[0][0].number), rows[0][1].number == 1)
        } catch { throw ReplicaError(error) }
    }

    /// A server that joined a store.
    package struct Member: Sendable {
        /// The name of its data directory.
        package let id: String
        /// The name of its machine.
        package let host: String
        /// Whether it has the store.
        package let isOwner: Bool
        /// The seconds since the owner last said that it lives, or since a follower last said that it had every change; it
        /// does so every 30 seconds.
        package let secondsSinceSeen: Int
    }

    /// Makes a directory that is no copy the content of an empty store, and returns the number of its files.
    ///
    /// The caller holds the directory's lock. An attempt that was interrupted is repeated from the beginning.
    package func fill() throws(ReplicaError) -> Int {
        do {
            let connection = try opened()
            let rows = try connection.run(
                "SELECT (SELECT count(*) FROM balloon.file), (SELECT replica FROM balloon.owner)")
            let unfinished = "copy"
            guard rows.first?[0].number == 0 || rows.first?[1].text == unfinished else {
                throw ReplicaError.unusable("the database has a store already")
            }
            guard try ReplicaMark(in: files.root) == nil else {
                throw ReplicaError.unusable("the directory is a copy of a store in PostgreSQL already")
            }
            let taken = try connection.run(
                "UPDATE balloon.owner SET epoch = epoch + 1, replica = $1 RETURNING epoch",
                [.text(unfinished)])
            let epoch = taken.first?[0].number ?? 0
            try connection.run("DELETE FROM balloon.piece", within: .seconds(600))
            try connection.run("DELETE FROM balloon.file", within: .seconds(600))
            guard let term = try beginTerm(of: epoch, after: 0, connection) else {
                throw ReplicaError.unusable("another copy has begun")
            }
            let copier = makeCopier(epoch, term, after: 0) {}
            var names: [String] = []
            try files.forEach { name, _ in names.append(name) }
            for start in stride(from: 0, to: names.count, by: 100) {
                copier.keep(Array(names[start..<min(start + 100, names.count)]))
                while true {
                    do throws(SystemError) {
                        try copier.synchronize()
                        break
                    } catch {
                        if copier.isEnded { throw ReplicaError.unusable("another copy has begun") }
                    }
                }
            }
            copier.end()
            var mark = ReplicaMark(store: try store(connection))
            mark.boot = ProcessRecord.machine ?? ""
            copier.advance(&mark, through: try lastNumber(connection))
            try mark.write(in: files.root)
            try connection.run("UPDATE balloon.owner SET replica = '' WHERE epoch = $1", [.number(epoch)])
            return names.count
        } catch {
            throw error as? ReplicaError ?? (error as? PostgresError).map(ReplicaError.init)
                ?? .unusable("\(error)")
        }
    }

    private func connect(_ name: String) throws(PostgresError) -> PostgresConnection {
        try PostgresConnection(settings.url, name: name)
    }

    private func opened() throws -> PostgresConnection {
        if let connection { return connection }
        let new = try connect("balloon follower")
        try new.runAll("SET lock_timeout = '1s'")
        try ReplicaSchema.check(new)
        if let place {
            try requireChange(place.number, of: place.term, new)
            // The database has forgotten removed files that this directory still has.
            if try lastNumber(new) - place.number > Self.maximumBehind { self.place = nil }
        }
        connection = new
        return new
    }

    private func store(_ connection: PostgresConnection) throws(PostgresError) -> String {
        try connection.run("SELECT id FROM balloon.store").first?[0].text ?? ""
    }

    private func lastNumber(_ connection: PostgresConnection) throws(PostgresError) -> Int64 {
        try connection.run("SELECT coalesce(max(number), 0) FROM balloon.file").first?[0].number ?? 0
    }

    /// Throws when the database lacks a change that the directory has, and marks the directory, so that later starts throw, too.
    private func requireChange(_ number: Int64, of term: String, _ connection: PostgresConnection) throws {
        let last = try lastNumber(connection)
        let isThere =
            try term.isEmpty
            ? number <= last
            : connection.run(ReplicaTerm.check, [.text(term), .number(number)]).first?[0].number == 1
        if isThere { return }
        try writeMark()
        throw ReplicaError.unusable(
            """
            the database lacks changes that the data directory has: it was restored, or a standby of it was promoted. To continue \
            with the database as it is, start this server with an empty data directory. To continue with this directory instead, \
            stop all servers, remove its file "replica", and run balloon store copy into an empty database
            """)
    }

    /// Begins the term of an owner, and returns its id; nil when another server is the owner.
    private func beginTerm(
        of epoch: Int64, after number: Int64, _ connection: PostgresConnection
    ) throws(PostgresError) -> String? {
        let id = ReplicaTerm.makeID()
        let rows = try connection.run(ReplicaTerm.begin, [.number(epoch), .text(id), .number(number)])
        return rows.isEmpty ? nil : id
    }

    /// Makes the directory what the store was at a moment between the beginning and the end of this call.
    private func join(_ connection: PostgresConnection) throws {
        let store = try store(connection)
        var mark: ReplicaMark
        var isNumbered = true
        if let found = try ReplicaMark(in: files.root) {
            guard found.store == store else {
                throw ReplicaError.unusable(
                    "the data directory is a copy of another store than the database has; name another directory"
                )
            }
            mark = found
            // Without a term the mark is of an earlier version, whose number may be that of a part of a large file. It
            // does not show that anything is lost, so everything is compared.
            isNumbered = try !mark.term.isEmpty || mark.through <= lastNumber(connection)
            if isNumbered { try requireChange(mark.through, of: mark.term, connection) }
            // The directory may be a copy of another machine's, which is still there.
            if mark.boot != ProcessRecord.machine {
                formerReplica = mark.replica
                mark.replica = ReplicaMark(store: store).replica
            }
        } else {
            var isEmpty = true
            try files.forEach { _, _ in isEmpty = false }
            guard isEmpty else {
                throw ReplicaError.unusable(
                    "the data directory has a store of its own; run balloon store copy, or name another directory"
                )
            }
            mark = ReplicaMark(store: store)
        }
        try connection.run(
            """
            INSERT INTO balloon.replica VALUES ($1, $2, 0, 0, now())
            ON CONFLICT (id) DO UPDATE SET host = excluded.host, seen = excluded.seen
            """, [.text(mark.replica), .text(ReplicaMark.machine())])
        try removeFormer(connection)
        let listed = Set(
            String(
                decoding: (try? File(files.absolute(ReplicaMark.changes), for: .reading).readAll()) ?? [],
                as: UTF8.self
            ).split(separator: "\n").map(String.init))
        let last = try connection.run(
            """
            SELECT number, \(ReplicaTerm.id(of: "number"))
            FROM (SELECT coalesce(max(number), 0) AS number FROM balloon.file) AS last
            """)
        let boot = ProcessRecord.machine ?? ""
        let isTrusted = isNumbered && mark.boot == boot && !boot.isEmpty
        let isFormerOwner =
            try connection.run("SELECT replica FROM balloon.owner").first?[0].text == mark.replica
        // An interrupted comparison is made again, because the mark stays as it was.
        if self.mark == nil { try mark.write(in: files.root) }
        self.mark = mark
        var lastPath = ""
        while true {
            let rows = try connection.run(
                "SELECT path, size, version, began, number FROM balloon.file WHERE path > $1 ORDER BY path LIMIT \(Self.pageFiles)",
                [.text(lastPath)])
            for row in rows {
                let file = try StoredFile(row)
                if isFormerOwner, file.path == KeptFiles.calls { continue }
                let isSame =
                    try isTrusted && file.number <= mark.through && !listed.contains(file.path)
                    && sizeBytes(file.path) == file.sizeBytes
                if !isSame { _ = try fetch(file, connection) }
            }
            guard let end = rows.last else { break }
            lastPath = end[0].text
        }
        var found: [String] = []
        try files.forEach { path, _ in
            if isFormerOwner, path == KeptFiles.calls { return }
            found.append(path)
            if found.count == Self.pageFiles { try removeUnknown(&found, connection) }
        }
        try removeUnknown(&found, connection)
        place = (last[0][0].number, "\u{10FFFF}", last[0][1].text)
        try writeMark()
    }

    /// Removes this server's former name from the list, where it would be another server that falls behind.
    ///
    /// While that name has the store, its beats count: it may be another machine's, of which the directory is a copy. A
    /// follower that loses its row so is listed again when it next says that it has every change.
    private func removeFormer(_ connection: PostgresConnection) throws(PostgresError) {
        guard let formerReplica else { return }
        try connection.run(
            """
            DELETE FROM balloon.replica
            WHERE id = $1 AND host = $2 AND NOT EXISTS (SELECT FROM balloon.owner WHERE replica = $1)
            """, [.text(formerReplica), .text(ReplicaMark.machine())])
    }

    /// Removes the files that the store does not have, and empties the list.
    private func removeUnknown(_ paths: inout [String], _ connection: PostgresConnection) throws {
        let rows = try connection.run(
            "SELECT path FROM balloon.file WHERE path = ANY($1) AND size >= 0", [.texts(paths)])
        let known = Set(rows.map { $0[0].text })
        for path in paths where !known.contains(path) { try Directory.remove(files.absolute(path)) }
        paths = []
    }

    /// Copies the changes since the last call.
    ///
    /// While an owner writes, content may be missing that a later change replaces; `isAlone` nothing may be missing.
    private func follow(_ connection: PostgresConnection, isAlone: Bool = false) throws {
        while let place {
            let rows = try connection.run(
                """
                SELECT path, size, version, began, number, \(ReplicaTerm.id(of: "file.number"))
                FROM balloon.file WHERE (number, path) > ($1, $2)
                ORDER BY number, path LIMIT \(Self.pageFiles)
                """, [.number(place.number), .text(place.path)], name: "changes")
            for row in rows {
                let file = try StoredFile(row)
                let size = try sizeBytes(file.path)
                // A page may end within a transaction.
                let isKnown =
                    file.began < place.number
                    || file.began == place.number
                        && !place.path.utf8.lexicographicallyPrecedes(file.path.utf8)
                let isAppended = isKnown && 0...max(0, file.sizeBytes) ~= size
                var isWhole = try isAppended && append(file, from: size, connection)
                if !isWhole { isWhole = try fetch(file, connection) }
                guard isWhole || !isAlone else {
                    throw ReplicaError.unusable("the database lacks a part of \(file.path)")
                }
                self.place = (file.number, file.path, row[5].text)
            }
            if rows.count < Self.pageFiles { return }
        }
    }

    /// Returns the size of a file; -1 when there is none.
    private func sizeBytes(_ path: String) throws(SystemError) -> Int64 {
        let size = try SystemError.unlessMissing { () throws(SystemError) in
            try File(files.absolute(path), for: .reading).sizeBytes()
        }
        return size.map(Int64.init) ?? -1
    }

    /// Replaces the file by what the store has, or removes it; false when a part of it is missing.
    private func fetch(_ file: StoredFile, _ connection: PostgresConnection) throws -> Bool {
        let path = files.absolute(file.path)
        if file.sizeBytes < 0 {
            try SystemError.unlessMissing { () throws(SystemError) in try Directory.remove(path) }
            return true
        }
        try Directory.make(Directory.parent(of: path)) { _ in }
        let temporary = path + ".replica.new"
        try SystemError.unlessMissing { () throws(SystemError) in try Directory.remove(temporary) }
        let new = try File(temporary, for: .appending)
        let isWhole = try read(file, from: 0, connection) { try new.append($0) }
        try Directory.rename(temporary, to: path)
        return isWhole
    }

    /// Appends what the store has after `size`; false when its pieces begin elsewhere.
    private func append(_ file: StoredFile, from size: Int64, _ connection: PostgresConnection) throws -> Bool
    {
        if size == file.sizeBytes { return true }
        var end: File?
        return try read(file, from: size, connection) { bytes in
            if end == nil { end = try File(files.absolute(file.path), for: .appending) }
            try end?.append(bytes)
        }
    }

    private func read(
        _ file: StoredFile, from start: Int64, _ connection: PostgresConnection,
        _ body: ([UInt8]) throws -> Void
    ) throws -> Bool {
        var at = start
        while at < file.sizeBytes {
            let rows = try connection.run(
                """
                SELECT at, content FROM balloon.piece WHERE path = $1 AND version = $2 AND at >= $3 AND at < $4
                ORDER BY at LIMIT \(Self.pagePieces)
                """, [.text(file.path), .number(file.version), .number(at), .number(file.sizeBytes)],
                name: "pieces", within: .seconds(30))
            if rows.isEmpty { return false }
            for row in rows {
                guard row[0].number == at else { return false }
                let bytes = try settings.form.read(row[1].content)
                try body(bytes)
                at += Int64(bytes.count)
            }
        }
        return true
    }

    /// Takes the store if its owner has released it, is this directory's former server, or was silent for the lease; returns the epoch.
    private func take(_ connection: PostgresConnection) throws -> Int64? {
        guard let mark else { return nil }
        let rows = try connection.run(
            """
            SELECT epoch, replica, coalesce((SELECT beat FROM balloon.replica WHERE id = owner.replica), -1)
            FROM balloon.owner
            """, name: "owner")
        guard let row = rows.first else { return nil }
        let owner = Owner(epoch: row[0].number, replica: row[1].text, beat: row[2].number)
        let now = now()
        // A pause between two looks counts as a quarter of the lease at most: what stopped this replica may have stopped the owner.
        var silence = Duration.zero
        if let seen, seen.owner == owner { silence = seen.silence + min(now - seen.last, settings.lease / 4) }
        seen = (owner, silence, now)
        let isSilent = silence >= settings.lease
        guard owner.replica.isEmpty || owner.replica == mark.replica || isSilent else { return nil }
        do throws(PostgresError) {
            let taken = try connection.run(
                """
                UPDATE balloon.owner SET epoch = epoch + 1, replica = $2, intake = epoch + 1, serves = false WHERE epoch = $1
                AND coalesce((SELECT beat FROM balloon.replica WHERE id = owner.replica), -1) = $3 RETURNING epoch
                """, [.number(owner.epoch), .text(mark.replica), .number(owner.beat)])
            return taken.first?[0].number
        } catch {
            guard error.isLockTimeout else { throw error }
            // A transaction of the silent owner holds the row: end it, and try again with the next step.
            try connection.run(
                """
                SELECT pg_terminate_backend(pid)::text FROM pg_stat_activity
                WHERE application_name = $1 AND usename = current_user AND datname = current_database()
                """, [.text("balloon \(owner.replica)")])
            return nil
        }
    }

    private func own(_ epoch: Int64, _ connection: PostgresConnection) throws -> OwnedStore? {
        guard var mark else { return nil }
        try writeMark()
        mark = self.mark ?? mark
        let number = try lastNumber(connection)
        guard let term = try beginTerm(of: epoch, after: number, connection) else { return nil }
        try removeFormer(connection)
        let former = seen?.owner.replica ?? ""
        let copier = makeCopier(epoch, term, after: number, lost: lost)
        self.connection = nil
        return OwnedStore(
            copier, settings, mark: mark, epoch: epoch, after: number,
            isTakenOver: !former.isEmpty && former != mark.replica, logger: logger,
            lost: lost)
    }

    private func makeCopier(
        _ epoch: Int64, _ term: String, after number: Int64, lost: @escaping @Sendable () -> Void
    ) -> FileCopier {
        let name = "balloon \(mark?.replica ?? "copy")"
        return FileCopier(
            files, settings, epoch: epoch, term: term, after: number, logger: logger,
            connect: { [settings] () throws(PostgresError) in try PostgresConnection(settings.url, name: name)
            },
            lost: lost)
    }

    private func markAtTimes(_ connection: PostgresConnection) throws {
        guard now() - marked >= Self.markInterval, let mark, let place else { return }
        try writeMark()
        try connection.run(
            """
            INSERT INTO balloon.replica VALUES ($1, $3, 0, $2, now())
            ON CONFLICT (id) DO UPDATE SET number = excluded.number, seen = excluded.seen
            """, [.text(mark.replica), .number(place.number), .text(ReplicaMark.machine())])
    }

    private func writeMark() throws(SystemError) {
        guard let place else { return }
        mark?.through = place.number
        mark?.term = place.term
        mark?.boot = ProcessRecord.machine ?? ""
        try mark?.write(in: files.root)
        try SystemError.unlessMissing { () throws(SystemError) in
            try Directory.remove(files.absolute(ReplicaMark.changes))
        }
        marked = now()
    }
}

/// A row of the table `file`.
private struct StoredFile {
    let path: String
    let sizeBytes: Int64
    let version: Int64
    /// The change with which this version began to count.
    let began: Int64
    /// The last change.
    let number: Int64

    init(_ row: [PostgresValue]) throws(ReplicaError) {
        (path, sizeBytes, version) = (row[0].text, row[1].number, row[2].number)
        (began, number) = (row[3].number, row[4].number)
        // The path names a file to write, so it must be one that an owner would write.
        guard KeptFiles.keeps(path), KeptFiles.isInside(path), sizeBytes >= -1 else {
            throw .unusable("the database names a file that no data directory has")
        }
    }
}
