package import BalloonHTTP
package import MessageStore
import Synchronization

/// `GET /livez` and `GET /readyz`: is the process alive, and may it be sent messages.
package enum HealthRoutes {
    /// Live means that the shard that answers runs; ready, that it does not drain and the journal's last sync succeeded.
    ///
    /// A handler that is down does not make the server unready: its business's events wait in the journal. Nor does a
    /// conversation that is set aside or cannot be written; the answer is `ok` and a line for what somebody must see to.
    package static func make(store: Store, isDraining: @escaping @Sendable () -> Bool)
        -> [HTTPRoute]
    {
        let ok = HTTPResponse(.ok, text: "ok\n")
        let draining = HTTPResponse(.serviceUnavailable, text: "draining\n")
        let notDurable = HTTPResponse(.serviceUnavailable, text: "the journal cannot be written\n")
        return [
            HTTPRoute(.get, "/livez") { _, _ in ok },
            HTTPRoute(.get, "/readyz") { _, _ in
                if isDraining() { return draining }
                guard store.lastSyncFailure == nil else { return notDurable }
                let troubles = troubles(store.statistics)
                return troubles.isEmpty ? ok : HTTPResponse(.ok, text: "ok\n" + troubles)
            },
        ]
    }

    /// A line for each thing that holds up some conversations, or the deletion of segments.
    static func troubles(_ statistics: StoreStatistics) -> String {
        [
            (statistics.quarantinedConversations, "set aside: balloon conversations rebuild"),
            (statistics.refusedConversations, "not written: the log says why"),
        ]
        .filter { $0.0 > 0 }
        .map { "\($0) \($0 == 1 ? "conversation is" : "conversations are") \($1)\n" }.joined()
            + (statistics.checkpointFailure == nil ? "" : "no checkpoints are made: the log says why\n")
    }
}
