import CPostgreSQL
import Synchronization

/// A connection to PostgreSQL; each call ends within its time.
@safe final class PostgresConnection: Sendable {
    /// The process of the server that serves this connection.
    let process: Int
    // Sound: one thread at a time has it, and it is closed once, by `deinit`.
    private let connection: Mutex<OpaquePointer>
    /// The names of the planned statements.
    private let planned = Mutex<Set<String>>([])
    /// The time in which a connection is made.
    private static let patience = Duration.seconds(3)

    /// Connects, and refuses a database that does not keep what it confirms.
    ///
    /// `name` is the connection's name in `pg_stat_activity`.
    init(_ url: String, name: String) throws(PostgresError) {
        guard balloon_postgres_load() == 1 else { throw .refused("", "libpq5 is not installed") }
        switch unsafe balloon_postgres_is_safe(url) {
        case -1: throw .refused("", "the URL of the database is wrong")
        case 0:
            throw .refused(
                "", "a database on another machine needs sslmode=verify-full and sslrootcert in its URL")
        default: break
        }
        guard
            let opened = unsafe balloon_postgres_connect(url, name, Self.patience.milliseconds)
        else { throw .lost("no memory") }
        let error = unsafe String(cString: balloon_postgres_error(opened))
        let version = unsafe balloon_postgres_version(opened)
        process = unsafe Int(balloon_postgres_process(opened))
        unsafe connection = Mutex(opened)
        guard error.isEmpty else { throw .lost(error) }
        guard version >= 150_000 else { throw .refused("", "PostgreSQL 15 or later is needed") }
        // Plans may be older than the tables have rows, and every statement here finds its rows by a key. PostgreSQL
        // gives a plan without a key a very high cost, and with `jit` it would compile such a plan at each execution.
        try runAll(
            """
            SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; SET enable_hashjoin = off;
            SET enable_mergejoin = off; SET jit = off
            """)
        let rows = try run(
            """
            SELECT set_config('synchronous_commit', CASE current_setting('synchronous_commit') WHEN 'remote_apply' \
            THEN 'remote_apply' ELSE 'on' END, false), current_setting('fsync'), current_setting('full_page_writes')
            """)
        guard rows.first?[1].text == "on", rows.first?[2].text == "on" else {
            throw .refused(
                "", "the database runs with fsync or full_page_writes off, so it loses what it confirmed")
        }
    }

    deinit { unsafe connection.withLock { unsafe balloon_postgres_close($0) } }

    /// Runs one statement and returns its rows; one with a name is planned once for this connection.
    @discardableResult
    func run(
        _ sql: String, _ parameters: [PostgresValue] = [], name: String? = nil,
        within patience: Duration = .seconds(3)
    ) throws(PostgresError) -> [[PostgresValue]] {
        var bytes: [UInt8] = []
        var lengths: [Int32] = []
        for parameter in parameters {
            let start = bytes.count
            parameter.write(onto: &bytes)
            lengths.append(Int32(clamping: bytes.count - start))
        }
        return try unsafe connection.withLock { connection throws(PostgresError) in
            let (count, types) = (Int32(parameters.count), parameters.map(\.type))
            if let name, !planned.withLock({ $0.contains(name) }) {
                let outcome = unsafe balloon_postgres_prepare(
                    connection, sql, name, count, types, patience.milliseconds)
                try unsafe Self.check(outcome, connection)
                planned.withLock { _ = $0.insert(name) }
            }
            let outcome = unsafe balloon_postgres_run(
                connection, sql, name, count, types, lengths, bytes, patience.milliseconds)
            try unsafe Self.check(outcome, connection)
            return unsafe Self.rows(connection)
        }
    }

    /// Runs several statements without parameters.
    func runAll(_ sql: String) throws(PostgresError) {
        try unsafe connection.withLock { connection throws(PostgresError) in
            let outcome = unsafe balloon_postgres_run(
                connection, sql, nil, 0, nil, nil, nil, Duration.seconds(30).milliseconds)
            try unsafe Self.check(outcome, connection)
        }
    }

    private static func check(_ outcome: Int32, _ connection: OpaquePointer) throws(PostgresError) {
        guard outcome != 0 else { return }
        let text = unsafe String(cString: balloon_postgres_error(connection))
        let state = unsafe String(cString: balloon_postgres_state(connection))
        throw outcome == 1 && !PostgresError.endsConnection(state) ? .refused(state, text) : .lost(text)
    }

    private static func rows(_ connection: OpaquePointer) -> [[PostgresValue]] {
        let (rows, columns) = unsafe (balloon_postgres_rows(connection), balloon_postgres_columns(connection))
        return (0..<rows).map { row in
            (0..<columns).map { column in
                var length: Int32 = 0
                let start = unsafe balloon_postgres_value(connection, row, column, &length)
                // Sound: libpq keeps `length` bytes there until the next statement; NULL has -1.
                return unsafe .bytes(Array(UnsafeBufferPointer(start: start, count: Int(max(0, length)))))
            }
        }
    }
}

extension Duration {
    fileprivate var milliseconds: Int32 {
        Int32(clamping: components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000)
    }
}
