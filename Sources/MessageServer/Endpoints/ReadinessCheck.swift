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
    package internal(set) var name: String
    /// The current state.
    package internal(set) var state: State

    /// Creates a check result.
    package init(_ name: String, _ state: State) {
        self.name = name
        self.state = state
    }
}

/// The combined result of all checks.
package struct Readiness: Sendable {
    /// The results, in the order of `ReadinessFacts.checks`.
    package let checks: [ReadinessCheck]

    /// Combines check results.
    package init(checks: [ReadinessCheck]) { self.checks = checks }

    /// Whether no check is failing.
    package var isReady: Bool {
        checks.allSatisfy { if case .failing = $0.state { false } else { true } }
    }

    /// The answer of the public listener, which tells strangers no reason.
    var word: String { isReady ? "ok\n" : "not ready\n" }

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
