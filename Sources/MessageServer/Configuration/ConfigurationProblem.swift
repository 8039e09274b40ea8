/// One problem in the configuration.
///
/// It never contains the value of a setting, because a misplaced value may be a secret.
package struct ConfigurationProblem: Sendable, Equatable, CustomStringConvertible {
    /// The place of the problem.
    package let place: ConfigurationPlace
    /// The fault, as a phrase about the place, such as `is not an address`.
    package let reason: String
    /// The correction, as an instruction, such as `write HOST:PORT`.
    package let hint: String

    /// Creates a problem.
    package init(at place: ConfigurationPlace, _ reason: String, hint: String) {
        self.place = place
        self.reason = reason
        self.hint = hint
    }

    /// `config/server.json:3:13: /listen: is not an address (write HOST:PORT)`.
    package var description: String { "\(place): \(reason) (\(hint))" }
}

extension [ConfigurationProblem] {
    package mutating func add(at place: ConfigurationPlace, _ reason: String, hint: String) {
        append(ConfigurationProblem(at: place, reason, hint: hint))
    }
}
