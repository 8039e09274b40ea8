import Synchronization

/// A connection to the database that is made for the first statement, and again for the first one after an error.
///
/// One caller at a time uses it.
final class ReplicaConnection: Sendable {
    private let connect: @Sendable () throws(PostgresError) -> PostgresConnection
    private let open = Mutex<PostgresConnection?>(nil)

    init(_ connect: @escaping @Sendable () throws(PostgresError) -> PostgresConnection) {
        self.connect = connect
    }

    /// Runs one statement, as ``PostgresConnection/run(_:_:name:within:)`` does.
    @discardableResult
    func run(
        _ sql: String, _ parameters: [PostgresValue] = [], name: String? = nil,
        within patience: Duration = .seconds(3)
    ) throws(PostgresError) -> [[PostgresValue]] {
        do throws(PostgresError) {
            let connection = if let open = open.withLock(\.self) { open } else { try connect() }
            open.withLock { $0 = connection }
            return try connection.run(sql, parameters, name: name, within: patience)
        } catch {
            open.withLock { $0 = nil }
            throw error
        }
    }
}
