/// One named check of `/readyz`: its state, and the reason when that is not `ok`.
package struct ReadinessCheck: Sendable, Hashable {
    /// How well the checked part works, from best to worst.
    package enum Level: String, Sendable {
        /// No action is needed.
        case ok
        /// An operator must act; messages are accepted nevertheless.
        case degraded
        /// The server must not receive messages: `/readyz` answers 503.
        case failing
    }

    /// The state of the checked part; a reason is a constant with counts and a hint.
    package struct State: Sendable, Hashable {
        /// How well it works.
        package internal(set) var level = Level.ok
        /// The reason of a level that is not `ok`.
        package internal(set) var reason: String?

        /// The state without a reason.
        package static let ok = State()
        /// A state that needs an operator.
        package static func degraded(reason: String) -> State { State(level: .degraded, reason: reason) }
        /// A state without service.
        package static func failing(reason: String) -> State { State(level: .failing, reason: reason) }
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

    /// Whether no check is failing.
    package var isReady: Bool {
        checks.allSatisfy { $0.state.level != .failing }
    }

    /// The answer of the public listener, which tells strangers no reason.
    var word: String { isReady ? "ok\n" : "not ready\n" }

    /// The reasons of failing checks, otherwise `ok` and a line for each problem that needs an operator.
    var summary: String {
        let level = isReady ? ReadinessCheck.Level.degraded : .failing
        return checks.filter { $0.state.level == level }.compactMap(\.state.reason)
            .reduce(isReady ? "ok\n" : "") { $0 + $1 + "\n" }
    }

    /// One line for each check.
    var verbose: String {
        checks.map { "\($0.name): \($0.state.level.rawValue)\($0.state.reason.map { ": \($0)" } ?? "")\n" }
            .joined()
    }
}
