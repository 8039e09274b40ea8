import Foundation
import GRDB

/// Where a message is before its 200 is sent.
protocol Storage: Sendable {
    /// Returns when the message is on disk.
    func store(id: String, business: String, message: [UInt8]) async throws
}

/// SQLite in WAL mode with `synchronous=FULL`; the message's id is unique.
struct DatabaseStorage: Storage {
    private let pool: DatabasePool

    init(folder: String) throws {
        pool = try DatabasePool(path: folder + "/messages.sqlite")
        try pool.writeWithoutTransaction { database in
            // GRDB's pool turns WAL on itself, with NORMAL, which does not sync each commit.
            try database.execute(sql: "PRAGMA synchronous = FULL")
            guard try Int.fetchOne(database, sql: "PRAGMA synchronous") == 2 else {
                throw CocoaError(.featureUnsupported)
            }
            try database.execute(
                sql: """
                    CREATE TABLE message (
                        business TEXT NOT NULL, id TEXT NOT NULL, body BLOB NOT NULL,
                        PRIMARY KEY (business, id))
                    """)
        }
    }

    func store(id: String, business: String, message: [UInt8]) async throws {
        try await pool.write { database in
            let statement = try database.cachedStatement(
                sql: "INSERT OR IGNORE INTO message (business, id, body) VALUES (?, ?, ?)")
            try statement.execute(arguments: [business, id, Data(message)])
        }
    }
}

/// One file; each message is appended and synced before the next.
actor FileStorage: Storage {
    private let file: FileHandle

    init(folder: String) throws {
        let path = folder + "/messages.jsonl"
        guard FileManager.default.createFile(atPath: path, contents: nil),
            let file = FileHandle(forWritingAtPath: path)
        else { throw CocoaError(.fileWriteUnknown) }
        self.file = file
    }

    func store(id: String, business: String, message: [UInt8]) throws {
        var line = Data(#"{"business":"\#(business)","id":"\#(id)","message":"#.utf8)
        line.append(contentsOf: message)
        line.append(contentsOf: "}\n".utf8)
        try file.write(contentsOf: line)
        try file.synchronize()
    }
}
