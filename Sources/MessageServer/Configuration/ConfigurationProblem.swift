/// One thing that is wrong with the configuration.
///
/// It never holds a setting's value: what was put in the wrong place may be a secret.
package struct ConfigurationProblem: Sendable, Equatable {
    /// Where to look.
    package let place: ConfigurationPlace
    /// What is wrong.
    package let reason: String
    /// What to do about it.
    package let hint: String

    /// Takes the three parts.
    package init(at place: ConfigurationPlace, _ reason: String, hint: String) {
        self.place = place
        self.reason = reason
        self.hint = hint
    }
}

extension ConfigurationProblem: CustomStringConvertible {
    /// `config/server.json:3:13: /listen: is not an address (write HOST:PORT)`.
    package var description: String { "\(place): \(reason) (\(hint))" }
}
