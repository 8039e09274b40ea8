import Synchronization

/// A connection to the database that is made for the first statement, and again for the first one after an error.
///
/// One caller at a time uses it.
final class ReplicaConnection: Sendable {
    private struct State {
        var open: PostgresConnection?
        /// The server's process of the latest connection; 0 before the first.
        var process = 0
    }

    private let connect: @Sendable () throws(PostgresError) -> PostgresConnection
    private let state = Mutex(State())

    init(_ connect: @escaping @Sendable () throws(PostgresError) -> PostgresConnection) {
        self.connect = connect
    }

    /// Runs one statement, as ``PostgresConnection/run(_:_:name:within:)`` does.
    @discardableResult
    func run(
        _ sql: String, _ parameters: [PostgresValue] = [], name: String? = nil,
        within patience: Duration = .seconds(3)
    ) throws(PostgresError) -> [[PostgresValue]] {
        try use { connection throws(PostgresError) in
            try connection.run(sql, parameters, name: name, within: patience)
        }
    }

    /// Runs several statements without parameters.
    func runAll(_ sql: String) throws(PostgresError) {
        try use { connection throws(PostgresError) in try connection.runAll(sql) }
    }

    private func use<Result>(
        _ body: (PostgresConnection) throws(PostgresError) -> Result
    ) throws(PostgresError) -> Result {
        do throws(PostgresError) { return try body(opened()) } catch {
            state.withLock { $0.open = nil }
            throw error
        }
    }

    private func opened() throws(PostgresError) -> PostgresConnection {
        let (open, former) = state.withLock { ($0.open, $0.process) }
        if let open { return open }
        let new = try connect()
        if former != 0 {
            // The statement of the lost connection may still wait there, and keep this one waiting.
            try new.run(
                """
                SELECT pg_terminate_backend(pid)::text FROM pg_stat_activity
                WHERE pid = $1::bigint AND application_name = current_setting('application_name')
                """, [.number(Int64(former))])
        }
        state.withLock { $0 = State(open: new, process: new.process) }
        return new
    }
}
