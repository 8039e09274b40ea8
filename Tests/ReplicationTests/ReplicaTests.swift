import BalloonPOSIX
import BalloonWire
import Glibc
import Logging
import Synchronization
import TestSupport
import Testing

@testable import Replication

/// Replicas on a real server: `scripts/failover-test --postgres` makes one and names it in `REPLICATION_TEST_POSTGRES`.
@Suite(.enabled(if: Cluster.url != nil, "scripts/test.d/failover runs these with PostgreSQL"))
struct ReplicaTests {
    /// A database of its own for each test.
    private let cluster = Cluster()

    @Test(arguments: 1...3)
    func `a follower has byte for byte what the owner kept, and so has a server that joins later`(
        _ seed: UInt64
    ) async throws {
        let (one, two, three) = try (Server(cluster), Server(cluster), Server(cluster))
        let owned = try #require(try await one.step())
        #expect(try await two.step() == nil)
        for round in 0..<10 {
            try await onThread {
                var random = SeededGenerator(seed: seed * 100 + UInt64(round))
                for _ in 0..<15 { try one.change(&random) }
                try one.synchronizeAll()
            }
            #expect(try await two.step() == nil)
            #expect(try two.content() == one.content(), "round \(round)")
        }
        #expect(try await three.step() == nil)
        #expect(try three.content() == one.content())
        await owned.release()
        _ = try #require(try await three.step())
        #expect(try three.content() == one.content())
    }

    @Test func `a change that an owner did not keep is gone when it follows again`() async throws {
        let (one, two) = try (Server(cluster), Server(cluster))
        let owned = try #require(try await one.step())
        try await onThread {
            try AtomicFile.write([1], to: one.path("people.json"))
            try File(one.path("journal"), for: .appending).append([1, 2])
            try File(one.path("journal"), for: .appending).synchronizeData()
        }
        try cluster.run("UPDATE balloon.owner SET epoch = epoch + 1, replica = ''")
        let other = try #require(try await two.step())
        // The former owner does not know yet.
        try File(one.path("journal"), for: .appending).append([3])
        try await onThread {
            #expect(throws: SystemError.notKept) { try AtomicFile.write([2], to: one.path("people.json")) }
            #expect(throws: SystemError.notKept) {
                try File(one.path("journal"), for: .appending).synchronizeData()
            }
        }
        #expect(one.isLost)
        #expect(try File(one.path("people.json"), for: .reading).readAll() == [2])
        await owned.release()
        let again = try one.again()
        #expect(try await again.step() == nil)
        #expect(try again.content() == two.content())
        #expect(try File(again.path("people.json"), for: .reading).readAll() == [1])
        await other.release()
    }

    @Test func `a follower that reads a transaction in two pages has all new files`() async throws {
        let (one, two) = try (Server(cluster), Server(cluster))
        let owned = try #require(try await one.step())
        let names = (0..<600).map { one.path("file\($0)") }
        try await onThread {
            for name in names { try overwrite(name, [1]) }
        }
        #expect(await eventually { owned.figures.waitingFiles == 0 })
        #expect(try await two.step() == nil)
        // While the table is locked, the changes wait for the next transactions, of which each has 256 files.
        let other = try PostgresConnection(cluster.url, name: "test")
        try other.runAll("BEGIN; LOCK TABLE balloon.file")
        try await onThread {
            for name in names { try overwrite(name, [2]) }
        }
        try other.runAll("ROLLBACK")
        #expect(await eventually { owned.figures.waitingFiles == 0 })
        #expect(try await two.step() == nil)
        #expect(try two.content() == one.content())
        await owned.release()
    }

    /// Notes the change without waiting for it.
    private func overwrite(_ path: String, _ bytes: [UInt8]) throws {
        let file = try File(path, for: .overwriting)
        try file.write(bytes, at: 0)
        try file.keepOverwritten(isAwaited: false)
    }

    @Test func `a silent owner loses the store after its lease, and a living one does not`() async throws {
        let (one, two) = try (Server(cluster), Server(cluster))
        let owned = try #require(try await one.step())
        for _ in 0..<20 {
            owned.beat()
            two.pass(Server.lease / 5)
            #expect(try await two.step() == nil)
        }
        #expect(owned.figures.followers == 1)
        #expect(owned.figures.waitingFiles == 0)
        // Its clock, by which it says every 30 seconds that it has every change, was turned.
        #expect(owned.figures.followerLag.map { $0 < .seconds(60) } == true)
        #expect(try Replica.standbys(cluster.url) == (count: 0, isAwaited: false))
        // A pause counts as a quarter of the lease.
        two.pass(Server.lease * 2)
        #expect(try await two.step() == nil)
        var steps = 0
        while try await two.step() == nil, steps < 10 {
            two.pass(Server.lease / 5)
            steps += 1
        }
        #expect(steps == 4)
        owned.beat()
        #expect(one.isLost)
    }

    @Test func `connections that end lose nothing`() async throws {
        let (one, two) = try (Server(cluster), Server(cluster))
        let owned = try #require(try await one.step())
        let (kept, isDone) = (Shared(0), Shared(false))
        async let killer: Void = onThread { [cluster] in
            defer { isDone.value = true }
            let connection = try PostgresConnection(cluster.url, name: "test")
            var ends = 0
            while ends < 60, !isDone.value {
                // On a slow machine a new connection takes longer than the pause, so a change meets few ends.
                if ends > 2 * kept.value + 1 {
                    try connection.run("SELECT pg_sleep(0.002)")
                    continue
                }
                ends += try connection.run(
                    """
                    SELECT pg_terminate_backend(pid), pg_sleep(0.03) FROM pg_stat_activity
                    WHERE datname = current_database() AND pid <> pg_backend_pid()
                    """
                ).count
            }
        }
        try await onThread {
            defer { isDone.value = true }
            while !isDone.value {
                let file = try File(one.path("journal"), for: .appending)
                try file.append(Array("\(kept.value)\n".utf8))
                try file.synchronizeData()
                kept.value += 1
            }
        }
        try await killer
        await owned.release()
        _ = try #require(try await two.step())
        let lines = try String(decoding: File(two.path("journal"), for: .reading).readAll(), as: UTF8.self)
            .split(separator: "\n")
        #expect(lines == (0..<kept.value).map { "\($0)" })
    }

    @Test func `changes fail at once while the database keeps nothing, and succeed later`() async throws {
        let one = try Server(cluster, patience: .seconds(3))
        let owned = try #require(try await one.step())
        let other = try PostgresConnection(cluster.url, name: "test")
        let last = "SELECT coalesce(max(number), 0) FROM balloon.file"
        let number = try cluster.number(last)
        // The check of the database passes, and the change waits.
        try other.runAll("BEGIN; LOCK TABLE balloon.piece")
        try await onThread {
            let file = try File(one.path("journal"), for: .appending)
            try file.append([1])
            let began = ContinuousClock.now
            for _ in 1...20 { #expect(throws: SystemError.notKept) { try file.synchronizeData() } }
            // The first call waits for three seconds; the others would, too.
            #expect(ContinuousClock.now - began < .seconds(30))
        }
        #expect(await eventually { owned.figures.failures > 0 })
        try other.runAll("ROLLBACK")
        #expect(await eventually { owned.figures.waitingFiles == 0 })
        try await onThread { try File(one.path("journal"), for: .appending).synchronizeData() }
        // A follower may have read the first attempt, which had less.
        #expect(try cluster.number(last) > number + 1)
        await owned.release()
    }

    @Test func `a change that is late for the release of the store does not end the server`() async throws {
        let one = try Server(cluster)
        let owned = try #require(try await one.step())
        try await onThread { try AtomicFile.write([1], to: one.path("early")) }
        let other = try PostgresConnection(cluster.url, name: "test")
        try other.runAll("BEGIN; LOCK TABLE balloon.file")
        try Directory.rename(one.path("early"), to: one.path("late"))
        #expect(
            try await eventually {
                try cluster.number("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'") > 0
            })
        owned.endBeats()
        owned.copier.end()
        try cluster.run("UPDATE balloon.owner SET epoch = epoch + 1")
        try other.runAll("ROLLBACK")
        #expect(await eventually { owned.figures.waitingFiles == 0 })
        #expect(!one.isLost)
    }

    @Test func `the server that takes the store has the calls that were kept, and a former owner its own`()
        async throws
    {
        let (one, two) = try (Server(cluster), Server(cluster))
        _ = try #require(try await one.step())
        let calls = try File(one.path("calls"), for: .overwriting)
        try await onThread {
            try calls.write([33, 49], at: 0)
            try calls.keepOverwritten(isAwaited: true)
        }
        try calls.write([48, 50], at: 0)
        let again = try one.again()
        let owned = try #require(try await again.step())
        #expect(!owned.isTakenOver)
        #expect(try File(again.path("calls"), for: .reading).readAll() == [48, 50])
        owned.endBeats()
        #expect(try await two.step() == nil)
        #expect(try File(two.path("calls"), for: .reading).readAll() == [33, 49])
        for _ in 1...8 {
            two.pass(Server.lease)
            if let taken = try await two.step() {
                #expect(taken.isTakenOver)
                return
            }
        }
        Issue.record("the silent owner kept the store")
    }

    @Test func `a large file counts only when it is whole, and the journal does not wait for it`()
        async throws
    {
        let (one, two) = try (Server(cluster), Server(cluster))
        let owned = try #require(try await one.step())
        let large = repeatingBytes(9 << 20, period: 251)
        try await onThread {
            try AtomicFile.write(large, to: one.path("attachments"))
            #expect(try two.content().isEmpty)
        }
        #expect(try await two.step() == nil)
        #expect(try File(two.path("attachments"), for: .reading).readAll() == large)
        #expect(
            try cluster.number("SELECT count(DISTINCT version) FROM balloon.piece WHERE path = 'attachments'")
                == 1)
        await owned.release()
    }

    @Test func `a part of a large file is no change that a mark may name`() async throws {
        let one = try Server(cluster, patience: .milliseconds(50))
        let owned = try #require(try await one.step())
        // Only the last part of the file makes it count.
        try cluster.run("ALTER TABLE balloon.file ADD CONSTRAINT none CHECK (path <> 'attachments')")
        try await onThread {
            _ = #expect(throws: SystemError.notKept) {
                try AtomicFile.write(repeatingBytes(3 << 20, period: 251), to: one.path("attachments"))
            }
        }
        #expect(await eventually { owned.figures.failures > 0 })
        #expect(try cluster.number("SELECT count(*) FROM balloon.piece") > 0)
        let last = "SELECT coalesce(max(number), 0) FROM balloon.file"
        #expect(try owned.copier.beginMark() == cluster.number(last))
        try cluster.run("ALTER TABLE balloon.file DROP CONSTRAINT none")
        #expect(await eventually { owned.figures.waitingFiles == 0 })
        await owned.release()
    }

    @Test func `a sealed store has no plain content, and opens with its key only`() async throws {
        let key = SealingKey(.random(byteCount: 32))
        let (one, two) = try (Server(cluster, key), Server(cluster, key))
        let owned = try #require(try await one.step())
        let text = Array("text to read".utf8)
        try await onThread { try AtomicFile.write(text, to: one.path("people.json")) }
        #expect(try await two.step() == nil)
        #expect(try two.content() == ["people.json": text])
        let found = "SELECT count(*) FROM balloon.piece WHERE position('read'::bytea IN content) > 0"
        #expect(try cluster.number(found) == 0)
        #expect(try cluster.number("SELECT count(*) FROM balloon.piece") == 1)
        for other in [nil, SealingKey(.random(byteCount: 32))] {
            await #expect(throws: ReplicaError.self) { _ = try await Server(cluster, other).step() }
        }
        await owned.release()
    }

    @Test(arguments: [(true, true), (false, true), (true, false)])
    func `a store is sealed anew while its owner writes, and then opens without the old key`(
        _ wasSealed: Bool, _ isSealed: Bool
    ) async throws {
        let old = wasSealed ? SealingKey(.random(byteCount: 32)) : nil
        let new = isSealed ? SealingKey(.random(byteCount: 32)) : nil
        let one = try Server(cluster, old)
        let first = try #require(try await one.step())
        // More than are read at once.
        try await onThread {
            for number in 0..<40 { try AtomicFile.write([UInt8(number)], to: one.path("state-\(number)")) }
        }
        await first.release()
        let settings = ReplicaSettings(url: cluster.url, sealingKey: new, otherSealingKey: old)
        let again = try one.again(settings)
        let owned = try #require(try await again.step())
        try await onThread { try AtomicFile.write([50], to: again.path("state-5")) }
        #expect(try Replica.reseal(settings) == 39)
        #expect(try Replica.reseal(settings) == 0)
        let two = try Server(cluster, new)
        #expect(try await two.step() == nil)
        #expect(try two.content() == again.content())
        #expect(try two.content().count == 40)
        if isSealed {
            await #expect(throws: ReplicaError.self) { _ = try await Server(cluster, old).step() }
        }
        await owned.release()
    }

    @Test func `a directory with another store is refused and stays as it is`() async throws {
        let (one, own) = try (Server(cluster), Server(cluster))
        _ = try #require(try await one.step())
        try File(own.path("VERSION"), for: .appending).append([1])
        await #expect(throws: ReplicaError.self) { _ = try await own.step() }
        let foreign = try Server(cluster)
        try ReplicaMark(store: "another").write(in: foreign.root)
        await #expect(throws: ReplicaError.self) { _ = try await foreign.step() }
        #expect(try own.content() == ["VERSION": [1]])
    }

    @Test func `a directory with changes that the database lost is refused, and another server continues`()
        async throws
    {
        let (one, two, three) = try (Server(cluster), Server(cluster), Server(cluster))
        _ = try #require(try await one.step())
        try await onThread { try AtomicFile.write([1], to: one.path("people.json")) }
        #expect(try await three.step() == nil)
        try cluster.save()
        try await onThread { try AtomicFile.write([2, 2], to: one.path("people.json")) }
        #expect(try await two.step() == nil)
        try cluster.goBack()
        try await onThread {
            _ = #expect(throws: SystemError.notKept) { try AtomicFile.write([3], to: one.path("journal")) }
        }
        #expect(one.isLost)
        await #expect(throws: ReplicaError.self) { _ = try await two.step() }
        var next: OwnedStore?
        while next == nil {
            three.pass(Server.lease / 5)
            next = try await three.step()
        }
        #expect(try three.content() == ["people.json": [1]])
        // Before and after the database has other changes with the numbers of the lost ones.
        for _ in 1...2 {
            for server in [one, two] {
                await #expect(throws: ReplicaError.self) { _ = try await server.again().step() }
                #expect(try File(server.path("people.json"), for: .reading).readAll() == [2, 2])
            }
            try await onThread {
                for name in ["a", "b", "c"] { try AtomicFile.write([4], to: three.path(name)) }
            }
        }
        await next?.release()
    }

    @Test func `a mark of an earlier version that is ahead of the database has everything compared`()
        async throws
    {
        let (one, two) = try (Server(cluster), Server(cluster))
        let owned = try #require(try await one.step())
        try await onThread { try AtomicFile.write([1], to: one.path("people.json")) }
        #expect(try await two.step() == nil)
        // The size is the same, so that only a comparison finds it.
        try File(two.path("people.json"), for: .overwriting).write([2], at: 0)
        var mark = try #require(try ReplicaMark(in: two.root))
        mark.through += 1
        try mark.write(in: two.root)
        await #expect(throws: ReplicaError.self) { _ = try await two.again().step() }
        mark.term = ""
        try mark.write(in: two.root)
        #expect(try await two.again().step() == nil)
        #expect(try two.content() == ["people.json": [1]])
        await owned.release()
    }

    @Test func `an owner whose takeover the database lost writes nothing`() async throws {
        let (one, two) = try (Server(cluster), Server(cluster))
        let first = try #require(try await one.step())
        try await onThread { try AtomicFile.write([1], to: one.path("people.json")) }
        #expect(try await two.step() == nil)
        try cluster.save()
        await first.release()
        let second = try #require(try await two.step())
        try await onThread { try AtomicFile.write([2], to: two.path("people.json")) }
        try cluster.goBack()
        // It gets the same epoch as the second server.
        let again = try one.again()
        let third = try #require(try await again.step())
        try await onThread {
            #expect(throws: SystemError.notKept) { try AtomicFile.write([3], to: two.path("people.json")) }
            try AtomicFile.write([4], to: again.path("journal"))
        }
        #expect(two.isLost)
        #expect(try again.content() == ["people.json": [1], "journal": [4]])
        await #expect(throws: ReplicaError.self) { _ = try await two.again().step() }
        _ = second
        await third.release()
    }

    /// The database may have lost also that the server joined.
    @Test(arguments: [true, false])
    func `a beat of an owner whose takeover the database lost ends the server`(_ isListed: Bool) async throws
    {
        let (one, two) = try (Server(cluster), Server(cluster))
        let first = try #require(try await one.step())
        if !isListed { try cluster.save() }
        #expect(try await two.step() == nil)
        if isListed { try cluster.save() }
        await first.release()
        let second = try #require(try await two.step())
        try await onThread { try AtomicFile.write([1], to: two.path("people.json")) }
        try cluster.goBack()
        let third = try #require(try await one.again().step())
        // The first beat meets the connection that ended.
        for _ in 1...2 { second.beat() }
        #expect(two.isLost)
        await #expect(throws: ReplicaError.self) { _ = try await two.again().step() }
        await third.release()
    }

    @Test func `a beat of an owner whose last change the database lost ends the server`() async throws {
        let one = try Server(cluster)
        let owned = try #require(try await one.step())
        try cluster.save()
        try await onThread { try AtomicFile.write([1], to: one.path("people.json")) }
        owned.beat()
        #expect(!one.isLost)
        try cluster.goBack()
        for _ in 1...2 { owned.beat() }
        #expect(one.isLost)
        await #expect(throws: ReplicaError.self) { _ = try await one.again().step() }
    }

    @Test func `a database that comes back with every change is used as before`() async throws {
        let (one, two) = try (Server(cluster), Server(cluster))
        let owned = try #require(try await one.step())
        try await onThread { try AtomicFile.write([1], to: one.path("people.json")) }
        #expect(try await two.step() == nil)
        try cluster.save()
        try cluster.goBack()
        try await onThread { try AtomicFile.write([2], to: one.path("people.json")) }
        #expect(try await two.step() == nil)
        #expect(try two.content() == ["people.json": [2]])
        #expect(!one.isLost)
        await owned.release()
    }

    @Test func `a directory that was copied to another machine does not take the store from the first`()
        async throws
    {
        let (one, two) = try (Server(cluster), Server(cluster))
        let owned = try #require(try await one.step())
        var mark = try #require(try ReplicaMark(in: one.root))
        mark.boot = "another machine"
        try mark.write(in: two.root)
        #expect(try await two.step() == nil)
        owned.beat()
        #expect(!one.isLost)
        await owned.release()
        #expect(try await two.step() != nil)
    }

    @Test func `a server whose machine restarted is listed once, whether it had the store or followed`()
        async throws
    {
        let (one, two) = try (Server(cluster), Server(cluster))
        let first = try #require(try await one.step())
        #expect(try await two.step() == nil)
        first.endBeats()
        for server in [one, two] {
            var mark = try #require(try ReplicaMark(in: server.root))
            mark.boot = "before"
            try mark.write(in: server.root)
        }
        let servers = "SELECT count(*) FROM balloon.replica"
        #expect(try await two.again().step() == nil)
        #expect(try cluster.number(servers) == 2)
        let again = try one.again()
        var owned: OwnedStore?
        while owned == nil {
            again.pass(Server.lease / 5)
            owned = try await again.step()
        }
        #expect(try cluster.number(servers) == 2)
        // Only the other one counts, and only if it was there in the last days.
        let owner = try #require(owned)
        owner.beat()
        #expect(owner.figures.followerLag != nil)
        try cluster.run("UPDATE balloon.replica SET seen = now() - interval '8 days'")
        owner.beat()
        #expect(owner.figures.followerLag == nil)
        await owner.release()
    }

    @Test func `a linked folder is refused, because its files would not be kept`() async throws {
        let (one, elsewhere) = try (Server(cluster), TemporaryDirectory())
        #expect(symlink(elsewhere.path, one.path("attachments")) == 0)
        await #expect(throws: ReplicaError.self) { _ = try await one.step() }
    }

    @Test func `a copied directory is the store of every server that joins, and is copied once`() async throws
    {
        let (one, two) = try (Server(cluster), Server(cluster))
        for number in 0..<300 {
            try Directory.make(one.path("conversations/\(number % 7)"))
            try File(one.path("conversations/\(number % 7)/\(number)"), for: .appending).append(
                repeatingBytes(number, period: 251))
        }
        #expect(try await one.replica.fill() == 300)
        _ = try #require(try await two.step())
        #expect(try two.content() == one.content())
        await #expect(throws: ReplicaError.self) { _ = try await Server(cluster).replica.fill() }
    }

    @Test func `a database without its tables is named, and the tables are made once`() async throws {
        let empty = Cluster(isMigrated: false)
        await #expect(throws: ReplicaError.self) { _ = try await Server(empty).step() }
        for _ in 1...2 { try Replica.migrate(empty.url) }
        _ = try #require(try await Server(empty).step())
        try empty.run("UPDATE balloon.version SET writer = 99")
        await #expect(throws: ReplicaError.self) { _ = try await Server(empty).step() }
    }

    @Test func `a statement without an index is not compiled, which takes longer than a beat`() throws {
        let plan = try PostgresConnection(cluster.url, name: "test").run(
            "EXPLAIN ANALYZE SELECT count(*) FROM balloon.replica WHERE beat > 0")
        #expect(plan.contains { $0[0].text.hasPrefix("Aggregate") })
        #expect(!plan.contains { $0[0].text.hasPrefix("JIT") })
    }

    @Test func `a transaction waits for its commit even where the database would not`() throws {
        try cluster.run("ALTER ROLE CURRENT_USER IN DATABASE \(cluster.name) SET synchronous_commit = off")
        #expect(
            try PostgresConnection(cluster.url, name: "test").run("SHOW synchronous_commit")[0][0].text
                == "on")
    }
}
