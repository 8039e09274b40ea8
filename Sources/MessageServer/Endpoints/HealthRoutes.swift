package import BalloonHTTP
package import ConversationStore
import Synchronization

/// `GET /livez` and `GET /readyz`: is the process alive, and may it be sent messages.
package enum HealthRoutes {
    /// Live means that the shard that answers runs; ready, that it does not drain and the journal's last sync succeeded.
    ///
    /// A handler that is down does not make the server unready: its business's events wait in the journal.
    package static func make(store: ConversationStore, isDraining: @escaping @Sendable () -> Bool)
        -> [HTTPRoute]
    {
        let ok = HTTPResponse(.ok, text: "ok\n")
        let draining = HTTPResponse(.serviceUnavailable, text: "draining\n")
        let notDurable = HTTPResponse(.serviceUnavailable, text: "the journal cannot be written\n")
        return [
            HTTPRoute(.get, "/livez") { _, _ in ok },
            HTTPRoute(.get, "/readyz") { _, _ in
                if isDraining() { return draining }
                return store.lastSyncFailure == nil ? ok : notDurable
            },
        ]
    }
}
