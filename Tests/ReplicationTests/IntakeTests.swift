import BalloonPOSIX
import Logging
import Synchronization
import TestSupport
import Testing

@testable import Replication

/// Messages that reach a server without the store, on a real database: see `ReplicaTests`.
@Suite(.enabled(if: Cluster.url != nil, "scripts/test.d/failover runs these with PostgreSQL"))
struct IntakeTests {
    private let cluster = Cluster()

    @Test func `a message is kept when the owner has stored it, in the order in which servers answered`()
        async throws
    {
        let (one, two) = try (Server(cluster), Server(cluster))
        let owned = try #require(try await one.step())
        #expect(try await two.step() == nil)
        let journal = Journal()
        try await owned.read(journal)
        let intakes = [intake(), intake()]
        for number in 0..<200 {
            let content = Array("\(number)".utf8)
            if number % 3 == 2 {
                // A message that the owner got itself.
                journal.append(content)
            } else {
                #expect(await intakes[number % 3].keeps(content))
            }
            #expect(journal.stored.count == number + 1)
        }
        #expect(journal.stored == (0..<200).map { Array("\($0)".utf8) })
        await owned.endMessages()
        #expect(try cluster.number("SELECT count(*) FROM balloon.intake") == 0)
        await owned.release()
    }

    @Test func `between two owners a message is kept at once, and the next owner stores it before it serves`()
        async throws
    {
        let (one, two) = try (Server(cluster), Server(cluster))
        let owned = try #require(try await one.step())
        // Before the owner serves, and after it has stopped.
        let messages = (0..<5).map { [UInt8(10 + $0)] }
        #expect(await intake().keeps(messages[0]))
        let former = Journal()
        try await owned.read(former)
        #expect(former.stored == [messages[0]])
        await owned.endMessages()
        let intake = intake()
        for message in messages[1...2] { #expect(await intake.keeps(message)) }
        await owned.release()
        for message in messages[3...4] { #expect(await intake.keeps(message)) }
        let next = try #require(try await two.step())
        let journal = Journal()
        try await next.read(journal)
        #expect(former.stored == [messages[0]])
        #expect(journal.stored == Array(messages[1...4]))
        await next.release()
    }

    @Test func `messages that wait for an owner that died are kept when another server takes the store`()
        async throws
    {
        let (one, two) = try (Server(cluster), Server(cluster))
        let owned = try #require(try await one.step())
        try await owned.read(Journal())
        try await cluster.kill(owned)
        let intake = intake()
        let kept = Shared<[Bool]>([])
        for number in 0..<3 {
            intake.keep([UInt8(number)]) { isKept in kept.value.append(isKept) }
        }
        #expect(try await eventually { try cluster.number("SELECT count(*) FROM balloon.intake") == 3 })
        #expect(kept.value == [])
        var next: OwnedStore?
        while next == nil {
            two.pass(Server.lease / 5)
            next = try await two.step()
        }
        #expect(await eventually { kept.value == [true, true, true] })
        let journal = Journal()
        try await next?.read(journal)
        #expect(journal.stored == [[0], [1], [2]])
        await next?.release()
    }

    @Test func `a message whose row the database lost is committed again before it is answered`() async throws
    {
        let (one, two) = try (Server(cluster), Server(cluster))
        let owned = try #require(try await one.step())
        try await owned.read(Journal())
        try await cluster.kill(owned)
        let (intake, kept) = (intake(), Shared<[Bool]>([]))
        intake.keep([1]) { isKept in kept.value.append(isKept) }
        let rows = "SELECT count(*) FROM balloon.intake"
        #expect(try await eventually { try cluster.number(rows) == 1 })
        try cluster.loseRows()
        #expect(try await eventually { try cluster.number(rows) == 1 })
        #expect(kept.value == [])
        var next: OwnedStore?
        while next == nil {
            two.pass(Server.lease / 5)
            next = try await two.step()
        }
        let journal = Journal()
        try await next?.read(journal)
        #expect(journal.stored == [[1]])
        #expect(await eventually { kept.value == [true] })
        await next?.release()
    }

    @Test func `a message that waits for the owner is kept although the database was away meanwhile`()
        async throws
    {
        let owned = try #require(try await Server(cluster).step())
        try await owned.read(Journal())
        try await cluster.kill(owned)
        let (intake, kept) = (intake(patience: .seconds(2)), Shared<[Bool]>([]))
        intake.keep([1]) { isKept in kept.value.append(isKept) }
        #expect(try await eventually { try cluster.number("SELECT count(*) FROM balloon.intake") == 1 })
        let other = try PostgresConnection(cluster.url, name: "test")
        try cluster.allowConnections(false)
        try other.run(
            """
            SELECT pg_terminate_backend(pid, 10000)::text FROM pg_stat_activity
            WHERE datname = current_database() AND application_name = 'balloon intake'
            """, within: .seconds(60))
        // Each takes the patience.
        for number: UInt8 in 2...3 { #expect(await intake.keeps([number]) == false) }
        #expect(kept.value == [])
        try cluster.allowConnections(true)
        try other.runAll("UPDATE balloon.owner SET serves = false")
        #expect(await eventually { kept.value == [true] })
        #expect(try cluster.number("SELECT count(*) FROM balloon.intake") == 1)
    }

    @Test func `a message is refused after its time although it is committed again and again`() async throws {
        let owned = try #require(try await Server(cluster).step())
        try await owned.read(Journal())
        try await cluster.kill(owned)
        // After each commit, the connection has no right to ask what became of the row.
        try cluster.run(
            """
            CREATE FUNCTION forbid() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                PERFORM set_config('role', 'pg_monitor', false);
                RETURN NULL;
            END $$;
            CREATE TRIGGER forbid AFTER INSERT ON balloon.intake EXECUTE FUNCTION forbid();
            """)
        #expect(await intake(lease: .seconds(-4)).keeps([1]) == false)
    }

    @Test func `a message that nobody reads is refused after its time, and removed`() async throws {
        let owned = try #require(try await Server(cluster).step())
        try await owned.read(Journal())
        try await cluster.kill(owned)
        #expect(await intake(lease: .seconds(-4)).keeps([1]) == false)
        #expect(try cluster.number("SELECT count(*) FROM balloon.intake") == 0)
    }

    @Test func `a message that the owner refuses is refused at once, and one that was answered is stored`()
        async throws
    {
        let owned = try #require(try await Server(cluster).step())
        let journal = Journal()
        journal.isFull.value = true
        #expect(await intake().keeps([1]))
        try await owned.read(journal)
        #expect(journal.stored == [[1]])
        #expect(await intake().keeps([2]) == false)
        #expect(try await eventually { try cluster.number("SELECT count(*) FROM balloon.intake") == 0 })
        journal.isFull.value = false
        #expect(await intake().keeps([3]))
        #expect(journal.stored == [[1], [3]])
        await owned.release()
    }

    @Test func `messages keep their order when they are not stored at first`() async throws {
        let owned = try #require(try await Server(cluster).step())
        let (journal, intake) = (Journal(), intake())
        journal.failures.value = 3
        for content: [UInt8] in [[1, 1], [1, 2], [2, 1], [1, 3]] { #expect(await intake.keeps(content)) }
        try await owned.read(journal)
        #expect(journal.stored == [[1, 1], [1, 2], [2, 1], [1, 3]])
        await owned.release()
    }

    @Test func `a transaction that is not answered in time is made again`() async throws {
        let owned = try #require(try await Server(cluster).step())
        try cluster.run(
            """
            CREATE SEQUENCE tries;
            CREATE FUNCTION hang() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                IF nextval('tries') = 1 THEN PERFORM pg_sleep(60); END IF;
                RETURN NULL;
            END $$;
            CREATE TRIGGER hang AFTER INSERT ON balloon.intake EXECUTE FUNCTION hang();
            """)
        #expect(await intake().keeps([1]))
        let journal = Journal()
        try await owned.read(journal)
        #expect(journal.stored == [[1]])
        await owned.release()
    }

    @Test func `a message is refused within its patience while the database does not answer`() async throws {
        let owned = try #require(try await Server(cluster).step())
        let intake = intake(patience: .milliseconds(50))
        let processes =
            "SELECT coalesce(sum(pid), 0) FROM pg_stat_activity WHERE application_name = 'balloon intake'"
        _ = await intake.keeps([0])
        // A statement ends after three seconds, which may pass on a busy machine: then its connection is another one.
        var keepsConnection = false
        for attempt: UInt8 in 1...5 where !keepsConnection {
            let before = try cluster.number(processes)
            let lock = try PostgresConnection(cluster.url, name: "test")
            try lock.runAll("BEGIN; LOCK TABLE balloon.intake IN EXCLUSIVE MODE")
            #expect(await intake.keeps([attempt]) == false)
            try lock.runAll("COMMIT")
            _ = await intake.keeps([attempt, 0])
            // The row of the refused message is removed, because its sender tries again.
            let rows = try cluster.number(
                "SELECT count(*) FROM balloon.intake WHERE content = '\\x000\(attempt)'")
            if rows > 0 { continue }
            keepsConnection = try cluster.number(processes) == before
        }
        #expect(keepsConnection)
        await owned.release()
    }

    @Test func `nothing is kept before a store has an owner, or for one of an earlier version`() async throws
    {
        #expect(await intake().keeps([1]) == false)
        let one = try Server(cluster)
        let owned = try #require(try await one.step())
        #expect(await intake().keeps([2]))
        try cluster.run("UPDATE balloon.owner SET epoch = epoch + 1")
        #expect(await intake().keeps([3]) == false)
        _ = owned
    }

    @Test func `without its database a message is refused within its patience`() async throws {
        var settings = ReplicaSettings(url: "host=/nowhere dbname=none")
        settings.patience = .milliseconds(50)
        #expect(await Intake(settings, logger: LogCollector().logger).keeps([1]) == false)
    }

    @Test func `more messages than there is room for are refused at once`() async throws {
        let owned = try #require(try await Server(cluster).step())
        try await owned.read(Journal())
        try await cluster.kill(owned)
        let intake = intake()
        let outcomes = Shared<[Bool]>([])
        for _ in 0..<1_030 { intake.keep([1]) { isKept in outcomes.value.append(isKept) } }
        #expect(outcomes.value == Array(repeating: false, count: 6))
        await owned.endMessages()
        #expect(await eventually { outcomes.value.count { $0 } == 1_024 })
        await owned.release()
    }

    @Test func `a message that cannot be read stays where it is, and holds up no other`() async throws {
        let one = try Server(cluster)
        let owned = try #require(try await one.step())
        let (journal, intake) = (Journal(), intake())
        for content: [UInt8] in [[1], Journal.foreign, [2]] { #expect(await intake.keeps(content)) }
        try cluster.run("INSERT INTO balloon.intake (key, content) VALUES (1, '\\x0700')")
        try await owned.read(journal)
        #expect(journal.stored == [[1], [2]])
        #expect(await intake.keeps([3]))
        await owned.endMessages()
        #expect(try cluster.number("SELECT count(*) FROM balloon.intake WHERE refused") == 2)
        await owned.release()
    }

    @Test func `the rest of a message is fetched when no owner reads it, and only then`() async throws {
        let one = try Server(cluster)
        let owned = try #require(try await one.step())
        // The owner reads the second message in less than a minute.
        let (journal, intake, fetches) = (Journal(), intake(fetchDelay: .seconds(60)), Shared(0))
        let fetch: Intake.Fetch = {
            fetches.value += 1
            return [10]
        }
        #expect(await intake.keeps([1], fetch: fetch))
        #expect(
            try await eventually {
                try cluster.number("SELECT count(*) FROM balloon.intake WHERE content = '\\x000a'") == 1
            })
        try await owned.read(journal)
        #expect(await intake.keeps([2], fetch: fetch))
        #expect(journal.stored == [[10], [2]])
        #expect(fetches.value == 1)
        await owned.endMessages()
        await owned.release()
    }

    @Test func `an owner that begins waits for a payload that another server fetches`() async throws {
        let owned = try #require(try await Server(cluster).step())
        let (journal, intake) = (Journal(), intake())
        #expect(await intake.keeps([1]))
        #expect(
            await intake.keeps(Journal.incomplete) {
                // The owner sees it incomplete at least once.
                _ = await eventually { journal.questions.value > 1 }
                return [2]
            })
        #expect(await intake.keeps([3]))
        try await owned.read(journal)
        #expect(journal.stored == [[1], [2], [3]])
        // A payload that does not come is not waited for.
        await owned.endMessages()
        #expect(await intake.keeps(Journal.incomplete))
        try await owned.read(journal)
        #expect(journal.stored.last == Journal.incomplete)
        await owned.release()
    }

    @Test func `a payload is fetched when the owner dies before it has read the message`() async throws {
        let owned = try #require(try await Server(cluster).step())
        try await owned.read(Journal())
        try await cluster.kill(owned)
        async let isKept = intake().keeps([1]) { [10] }
        #expect(try await eventually { try cluster.number("SELECT count(*) FROM balloon.intake") == 1 })
        // Another server takes the store before half a second is over.
        try cluster.run("UPDATE balloon.owner SET epoch = epoch + 1, intake = epoch + 1, serves = false")
        #expect(await isKept)
        #expect(
            try await eventually {
                try cluster.number("SELECT count(*) FROM balloon.intake WHERE content = '\\x000a'") == 1
            })
    }

    @Test func `a payload that was fetched is committed again when the database lost the row`() async throws {
        let owned = try #require(try await Server(cluster).step())
        try await owned.read(Journal())
        try await cluster.kill(owned)
        let (intake, kept) = (intake(fetchDelay: .zero), Shared<[Bool]>([]))
        intake.keep([1], fetch: { [10] }) { isKept in kept.value.append(isKept) }
        let rows = "SELECT count(*) FROM balloon.intake WHERE content = '\\x000a'"
        #expect(try await eventually { try cluster.number(rows) == 1 })
        try cluster.loseRows()
        #expect(try await eventually { try cluster.number(rows) == 1 })
        try cluster.run("UPDATE balloon.owner SET serves = false")
        #expect(await eventually { kept.value == [true] })
    }

    @Test func `an owner whose takeover the database lost does not speak for one with the same epoch`()
        async throws
    {
        let (one, two) = try (Server(cluster), Server(cluster))
        let first = try #require(try await one.step())
        #expect(try await two.step() == nil)
        try cluster.save()
        await first.release()
        let second = try #require(try await two.step())
        try cluster.goBack()
        // It gets the same epoch as the second server.
        let third = try #require(try await one.again().step())
        try await second.read(Journal())
        let serves = "SELECT count(*) FROM balloon.owner WHERE replica <> '' AND serves"
        #expect(try cluster.number(serves) == 0)
        try await third.read(Journal())
        await second.endMessages()
        #expect(try cluster.number(serves) == 1)
        await second.release()
        #expect(try cluster.number(serves) == 1)
        await third.release()
    }

    private func intake(
        lease: Duration = Server.lease, patience: Duration = .seconds(60),
        fetchDelay: Duration = .milliseconds(500)
    ) -> Intake {
        var settings = ReplicaSettings(url: cluster.url, lease: lease)
        settings.patience = patience
        return Intake(settings, fetchDelay: fetchDelay, logger: LogCollector().logger)
    }
}

extension Intake {
    fileprivate func keeps(_ content: [UInt8], fetch: Fetch? = nil) async -> Bool {
        await withCheckedContinuation { continuation in
            keep(content, fetch: fetch) { continuation.resume(returning: $0) }
        }
    }
}

extension OwnedStore {
    fileprivate func read(_ journal: Journal) async throws {
        #expect(try await readMessages(into: journal, until: { false }))
    }
}

extension Cluster {
    /// Leaves the database as a server that is killed does: it reads no messages, but says that it serves.
    fileprivate func kill(_ owned: OwnedStore) async throws {
        owned.endBeats()
        await owned.endMessages()
        try run("UPDATE balloon.owner SET serves = true")
    }

    /// Removes the messages for new connections, as a promoted standby does, and for no earlier ones.
    fileprivate func loseRows() throws {
        try run(
            """
            BEGIN; LOCK TABLE balloon.intake; DELETE FROM balloon.intake;
            DO $$ BEGIN
                PERFORM pg_terminate_backend(pid, 10000) FROM pg_stat_activity
                WHERE datname = current_database() AND application_name = 'balloon intake';
            END $$;
            COMMIT
            """)
    }
}

/// The messages that an owner has stored.
private final class Journal: TakenMessageStore {
    static let incomplete: [UInt8] = [254]
    /// How often it was asked whether a message is incomplete.
    let questions = Shared(0)
    /// The bytes that are no message.
    static let foreign: [UInt8] = [255]
    private let contents = Shared<[[UInt8]]>([])
    /// Whether it refuses messages that were not answered.
    let isFull = Shared(false)
    /// How often it stores nothing at first.
    let failures = Shared(0)
    var stored: [[UInt8]] { contents.value }

    func append(_ content: [UInt8]) { contents.value.append(content) }

    func read(_ content: [UInt8]) -> [UInt8]? { content == Self.foreign ? nil : content }

    func isIncomplete(_ content: [UInt8]) -> Bool {
        questions.value += 1
        return content == Self.incomplete
    }

    func refuses(_ content: [UInt8]) -> Bool { isFull.value }

    func store(_ messages: [[UInt8]], completion: @escaping @Sendable (Bool) -> Void) {
        failures.value -= 1
        let isStored = failures.value < 0
        if isStored { contents.value += messages }
        for _ in messages { completion(isStored) }
    }
}
