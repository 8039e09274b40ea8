import MessageStore

/// One named check of `/readyz`: its state, and the reason when that is not `ok`.
package struct ReadinessCheck: Sendable, Hashable {
    /// The state of the checked part; a reason is a constant with counts and a hint.
    package enum State: Sendable, Hashable {
        /// No action is needed.
        case ok
        /// An operator must act; messages are accepted nevertheless.
        case degraded(reason: String)
        /// The server must not receive messages: `/readyz` answers 503.
        case failing(reason: String)
    }

    /// The name, constant in every answer.
    package let name: String
    /// The current state.
    package let state: State

    /// Creates a check result.
    package init(_ name: String, _ state: State) {
        self.name = name
        self.state = state
    }

    /// Every check, in the order in which `/readyz?verbose` lists them.
    static func all(store: Store, isDraining: Bool) -> [ReadinessCheck] {
        let statistics = store.statistics
        return [
            ReadinessCheck("draining", isDraining ? .failing(reason: "draining") : .ok),
            ReadinessCheck("journal", journal(store)),
            records(store.journalDamage),
            ReadinessCheck("deliveries", store.isHeldUp ? .degraded(reason: pausedDeliveries) : .ok),
            .conversations(
                "damaged-conversations", statistics.quarantinedConversations,
                "quarantined: run balloon conversations rebuild"),
            .conversations(
                "refused-conversations", statistics.refusedConversations,
                "not written: see the log for the reason"),
            ReadinessCheck(
                "checkpoints",
                statistics.checkpointFailure == nil
                    ? .ok : .degraded(reason: "checkpoints fail: see the log for the reason")),
        ]
    }

    /// The state of check `journal`: failing while writes fail, and degraded for a minute after a failure.
    ///
    /// After a failure a small write may succeed, for example on a nearly full disk, while larger messages get 503.
    private static func journal(_ store: Store) -> State {
        if store.lastSyncFailure != nil { return .failing(reason: "journal writes fail") }
        return store.hasRecentSyncFailure ? .degraded(reason: recentJournalFailure) : .ok
    }

    static let recentJournalFailure =
        "journal writes failed within the last minute: free space on the disk or check it"

    static let pausedDeliveries =
        "deliveries are paused because disk writes fail: free space on the disk or check it"

    private static func records(_ damage: JournalRepair) -> ReadinessCheck {
        let name = "journal-records"
        if damage.isEmpty { return ReadinessCheck(name, .ok) }
        guard damage.isHarmful else {
            return ReadinessCheck(
                name, .degraded(reason: "finished journal records are damaged: run balloon journal repair"))
        }
        return ReadinessCheck(
            name,
            .failing(reason: "journal records \(damage.recordsText) are lost: run balloon journal repair"))
    }

    private static func conversations(_ name: String, _ count: Int, _ what: String) -> ReadinessCheck {
        let are = count == 1 ? "conversation is" : "conversations are"
        return ReadinessCheck(name, count == 0 ? .ok : .degraded(reason: "\(count) \(are) \(what)"))
    }
}

/// The combined result of all checks.
struct Readiness {
    let checks: [ReadinessCheck]

    var isReady: Bool {
        checks.allSatisfy { if case .failing = $0.state { false } else { true } }
    }

    /// The reasons of failing checks, otherwise `ok` and a line for each problem that needs an operator.
    var summary: String {
        let failing = checks.map { if case .failing(let reason) = $0.state { reason + "\n" } else { "" } }
            .joined()
        guard failing.isEmpty else { return failing }
        return "ok\n"
            + checks.map { if case .degraded(let reason) = $0.state { reason + "\n" } else { "" } }.joined()
    }

    /// One line for each check.
    var verbose: String {
        checks.map { check in
            switch check.state {
            case .ok: "\(check.name): ok\n"
            case .degraded(let reason): "\(check.name): degraded: \(reason)\n"
            case .failing(let reason): "\(check.name): failing: \(reason)\n"
            }
        }.joined()
    }
}
