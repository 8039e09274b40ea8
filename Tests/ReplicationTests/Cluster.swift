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

    func number(_ sql: String) throws -> Int64 {
        try PostgresConnection(url, name: "test").run(sql)[0][0].number
    }
}
