package import BalloonWire
import Synchronization

/// The MSP's secrets that sign the tokens of webhooks: the current one and, during a change, the previous
/// one.
///
/// A reload replaces the secrets; each shard creates new verifiers at its next request.
package final class MSPSecrets: Sendable {
    private let secrets: Mutex<[Secret]>
    /// The number of changes; an authenticator compares it without a lock.
    private let changes = Atomic(0)

    /// Accepts tokens that are signed with one of these secrets.
    package init(_ current: Secret, previous: Secret? = nil) {
        secrets = Mutex([current] + [previous].compactMap(\.self))
    }

    /// Replaces the secrets.
    func change(to current: Secret, previous: Secret?) {
        secrets.withLock { secrets in
            let new = [current] + [previous].compactMap(\.self)
            guard secrets != new else { return }
            secrets = new
            changes.add(1, ordering: .releasing)
        }
    }

    /// The number of changes so far.
    var changeCount: Int { changes.load(ordering: .acquiring) }

    /// The secrets with the number of changes that led to them.
    var current: (secrets: [Secret], changeCount: Int) { secrets.withLock { ($0, changeCount) } }
}
