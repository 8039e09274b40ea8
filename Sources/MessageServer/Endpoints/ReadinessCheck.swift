import MessageStore

/// One thing that `/readyz` looks at, by its name: its state, and the reason when that is not `ok`.
package struct ReadinessCheck: Sendable, Hashable {
    /// How the thing is; a reason is a constant with counts, and says what to do.
    package enum State: Sendable, Hashable {
        /// Nothing is to be done.
        case ok
        /// Something waits for an operator; messages are accepted all the same.
        case degraded(reason: String)
        /// No messages may be sent here: `/readyz` answers 503.
        case failing(reason: String)
    }

    /// A word, the same in every answer.
    package let name: String
    /// How it is now.
    package let state: State

    /// Names what was looked at.
    package init(_ name: String, _ state: State) {
        self.name = name
        self.state = state
    }

    /// Every check, in the order in which `/readyz?verbose` lists them.
    static func all(store: Store, isDraining: Bool) -> [ReadinessCheck] {
        let statistics = store.statistics
        return [
            ReadinessCheck("draining", isDraining ? .failing(reason: "draining") : .ok),
            ReadinessCheck(
                "journal",
                statistics.lastSyncFailure == nil ? .ok : .failing(reason: "the journal cannot be written")),
            records(store.journalDamage),
            .conversations(
                "damaged-conversations", statistics.quarantinedConversations,
                "set aside: balloon conversations rebuild"),
            .conversations(
                "refused-conversations", statistics.refusedConversations, "not written: the log says why"),
            ReadinessCheck(
                "checkpoints",
                statistics.checkpointFailure == nil
                    ? .ok : .degraded(reason: "no checkpoints are made: the log says why")),
        ]
    }

    private static func records(_ damage: JournalRepair) -> ReadinessCheck {
        let name = "journal-records"
        if damage.isEmpty { return ReadinessCheck(name, .ok) }
        guard damage.isHarmful else {
            return ReadinessCheck(
                name, .degraded(reason: "finished journal records are damaged: balloon journal repair"))
        }
        return ReadinessCheck(
            name,
            .failing(reason: "journal records \(damage.recordsText) are lost: balloon journal repair"))
    }

    private static func conversations(_ name: String, _ count: Int, _ what: String) -> ReadinessCheck {
        let are = count == 1 ? "conversation is" : "conversations are"
        return ReadinessCheck(name, count == 0 ? .ok : .degraded(reason: "\(count) \(are) \(what)"))
    }
}

/// What all checks together say.
struct Readiness {
    let checks: [ReadinessCheck]

    var isReady: Bool {
        checks.allSatisfy { if case .failing = $0.state { false } else { true } }
    }

    /// The reasons to be sent no messages; else `ok` and a line for each thing that waits for an operator.
    var summary: String {
        let failing = checks.map { if case .failing(let reason) = $0.state { reason + "\n" } else { "" } }
            .joined()
        guard failing.isEmpty else { return failing }
        return "ok\n"
            + checks.map { if case .degraded(let reason) = $0.state { reason + "\n" } else { "" } }.joined()
    }

    /// A line for each check.
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
