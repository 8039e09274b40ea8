import BalloonPOSIX
import BalloonTransport
import MessageServer
import MessageStore

/// Changes of a data directory: by the server that owns it, or on the directory itself when none does.
///
/// Each returns when the change is on disk.
enum StoreChange {
    /// Hands messages over again; returns their new records.
    static func replay(_ records: [UInt64], data: String) async throws -> [UInt64] {
        try await change(data, "replay", body(records), ControlRoutes.records(in:)) { store in
            try await store.replay(records)
        }
    }

    /// Takes messages off the dead letters.
    static func drop(_ records: [UInt64], data: String) async throws {
        _ = try await change(data, "drop", body(records), ControlRoutes.records(in:)) { store in
            try await store.drop(records)
            return []
        }
    }

    /// Ends messages that no handler has ended; returns those that were dropped before.
    static func dropPending(_ records: [UInt64], data: String) async throws -> Set<UInt64> {
        Set(
            try await change(data, "events/drop", body(records), ControlRoutes.records(in:)) { store in
                Array(try await store.dropPending(records, reason: Store.droppedByOperator))
            })
    }

    /// Writes what is missing in the conversations.
    static func rebuild(data: String) async throws -> Store.Rebuilt {
        try await change(data, "rebuild", [], ControlRoutes.rebuilt(in:)) { store in
            try await store.rebuild()
        }
    }

    private static func change<Result>(
        _ data: String, _ name: String, _ body: [UInt8], _ read: ([UInt8]) -> Result?,
        alone: (Store) async throws -> Result
    ) async throws -> Result {
        guard Directory.isDirectory(data) else {
            throw CommandFailure.noDataDirectory(path: terminalText(data))
        }
        // What a mistyped path names is not made a data directory.
        try Store.check(data)
        if let answer = try await askServer(data, name, body, read) { return answer }
        // Takes the lock, so that no server can begin meanwhile; the next one delivers.
        let store = try Store.open(
            StoreConfiguration(directory: data), logger: LogOptions.start())
        do {
            let result = try await alone(store)
            await store.close()
            return result
        } catch {
            await store.close()
            throw error
        }
    }

    /// Nil when no server listens.
    private static func askServer<Result>(
        _ data: String, _ name: String, _ body: [UInt8], _ read: ([UInt8]) -> Result?
    ) async throws -> Result? {
        // A rebuild reads the whole journal.
        guard let answer = try await ControlSocket.post("/" + name, body, data: data, timeout: .seconds(3600))
        else { return nil }
        guard let result = read(answer) else {
            throw CommandFailure.refused(status: 200, answer: "something that this program does not know")
        }
        return result
    }

    private static func body(_ records: [UInt64]) -> [UInt8] { Array("{\"records\":\(records)}".utf8) }
}
