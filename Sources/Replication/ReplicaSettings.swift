package import BalloonWire

/// Where a store in PostgreSQL is, and how long its owner may be silent.
package struct ReplicaSettings: Sendable, Equatable {
    /// A URL or keywords as libpq takes them; it may have a password.
    package var url: String
    /// How long the owner's beat must not change before another replica takes the store.
    package var lease: Duration
    /// The key with which the content of files is sealed; nil leaves it plain.
    package var sealingKey: SealingKey?
    /// Another key that opens what was or will be sealed with it, while the key is changed.
    package var otherSealingKey: SealingKey?

    /// How long a transaction may take before callers are told that their changes are not durable: those that wait, and at once
    /// those that come while it is tried again.
    var patience = Duration.seconds(3)

    var form: PieceForm { PieceForm(key: sealingKey, otherKey: otherSealingKey) }

    /// Creates settings.
    package init(
        url: String, lease: Duration = .seconds(10), sealingKey: SealingKey? = nil,
        otherSealingKey: SealingKey? = nil
    ) {
        (self.url, self.lease) = (url, lease)
        (self.sealingKey, self.otherSealingKey) = (sealingKey, otherSealingKey)
    }
}

/// A store in PostgreSQL that this program cannot join.
package enum ReplicaError: Error, CustomStringConvertible {
    /// The database cannot be reached at present; a later attempt may succeed.
    case unreachable(String)
    /// An attempt makes no sense until an operator has changed something.
    case unusable(String)

    init(_ error: PostgresError) {
        switch error {
        case .lost(let reason): self = .unreachable(reason)
        case .refused("", _): self = .unusable("\(error)")
        case .refused: self = .unreachable("\(error)")
        }
    }

    package var description: String {
        switch self {
        case .unreachable(let reason): "the store's database cannot be used: \(reason)"
        case .unusable(let reason): reason
        }
    }
}
