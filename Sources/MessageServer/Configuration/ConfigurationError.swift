/// The reason why a configuration was not loaded, for the operator to correct.
package enum ConfigurationError: Error, Sendable, Equatable, CustomStringConvertible {
    /// All problems, in the order of the files: correct all of them, then start again.
    case problems([ConfigurationProblem])

    /// The problems, at least one.
    package var problems: [ConfigurationProblem] {
        switch self {
        case .problems(let problems): problems
        }
    }

    /// Two lines of text for each problem: place and reason, then the hint.
    package var report: String {
        problems.map { "\($0.place): \($0.reason)\n  hint: \($0.hint)\n" }.joined()
    }

    /// One line for each problem.
    package var description: String {
        problems.map(\.description).joined(separator: "\n")
    }
}
