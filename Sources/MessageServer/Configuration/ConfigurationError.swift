/// The reason why a configuration was not loaded; always the operator's to correct.
package enum ConfigurationError: Error, Sendable, Equatable {
    /// All that is wrong, in the order of the files: correct every one of them, then start again.
    case problems([ConfigurationProblem])

    /// What is wrong, at least one thing.
    package var problems: [ConfigurationProblem] {
        switch self {
        case .problems(let problems): problems
        }
    }
}

extension ConfigurationError {
    /// Two lines for each problem, for a person: where and what, and what to do about it.
    package var report: String {
        problems.map { "\($0.place): \($0.reason)\n  hint: \($0.hint)\n" }.joined()
    }
}

extension ConfigurationError: CustomStringConvertible {
    /// One line for each problem.
    package var description: String {
        problems.map(\.description).joined(separator: "\n")
    }
}
