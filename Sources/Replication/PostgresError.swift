/// A statement that PostgreSQL did not carry out, or may not have carried out.
enum PostgresError: Error, CustomStringConvertible {
    /// The database refused it, with its SQLSTATE or an empty text; it was not carried out.
    case refused(_ state: String, _ reason: String)
    /// The connection is of no use any more; whether the statement was carried out is not known.
    case lost(_ reason: String)

    /// Whether a new connection may help: the server stops, starts, or became a standby, or too many are connected.
    static func endsConnection(_ state: String) -> Bool {
        state.hasPrefix("57") || state.hasPrefix("08") || state == "25006" || state == "53300"
    }

    /// Whether a lock was not free within `lock_timeout`.
    var isLockTimeout: Bool { if case .refused("55P03", _) = self { true } else { false } }

    var description: String {
        switch self {
        case .refused(let state, let reason): state.isEmpty ? reason : "\(reason) (SQLSTATE \(state))"
        case .lost(let reason): reason
        }
    }
}
