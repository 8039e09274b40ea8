import Glibc
import Synchronization
import Testing

@testable import Replication

/// A database of one test.
final class Cluster: Sendable {
    static let url = getenv("REPLICATION_TEST_POSTGRES").map { String(cString: $0) }
    private static let count = Atomic(0)
    let url: String
    let name: String

    init(isMigrated: Bool = true) {
        let number = Self.count.add(1, ordering: .relaxed).newValue
        name = "test_\(getpid())_\(number)"
        let base = Self.url ?? ""
        url = "\(base) dbname=\(name)"
        do {
            try PostgresConnection("\(base) dbname=postgres", name: "test").runAll("CREATE DATABASE \(name)")
            if isMigrated { try Replica.migrate(url) }
        } catch { Issue.record("no database: \(error)") }
    }

    deinit {
        try? PostgresConnection("\(Self.url ?? "") dbname=postgres", name: "test").runAll(
            "DROP DATABASE \(name) WITH (FORCE)")
    }

    func run(_ sql: String) throws { try PostgresConnection(url, name: "test").runAll(sql) }

    /// Copies what ``goBack()`` restores.
    func save() throws {
        for table in Self.tables { try run("CREATE TABLE saved_\(table) AS TABLE balloon.\(table)") }
    }

    /// Ends the servers' connections and restores what was saved, as the promotion of an asynchronous standby does.
    func goBack() throws {
        let connection = try PostgresConnection(url, name: "test")
        try allowConnections(false)
        try connection.run(
            """
            SELECT pg_terminate_backend(pid, 10000)::text FROM pg_stat_activity
            WHERE datname = current_database() AND pid <> pg_backend_pid()
            """, within: .seconds(60))
        for table in Self.tables {
            try connection.runAll("TRUNCATE balloon.\(table)")
            try connection.runAll("INSERT INTO balloon.\(table) TABLE saved_\(table)")
        }
        try allowConnections(true)
    }

    /// Lets new connections succeed or fail; those that exist stay.
    func allowConnections(_ isAllowed: Bool) throws {
        // PostgreSQL refuses this for the database of the connection itself.
        try PostgresConnection("\(Self.url ?? "") dbname=postgres", name: "test").runAll(
            "ALTER DATABASE \(name) ALLOW_CONNECTIONS \(isAllowed)")
    }

    private static let tables = ["owner", "term", "replica", "file", "piece"]

    func number(_ sql: String) throws -> Int64 {
        try PostgresConnection(url, name: "test").run(sql)[0][0].number
    }
}
