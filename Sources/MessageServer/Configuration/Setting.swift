/// The text of a setting, with its place.
struct Setting: Sendable, Equatable {
    let text: String
    let place: ConfigurationPlace

    /// The parsed setting; nil after reporting a problem.
    func parsed<Value>(
        _ parse: (String) throws(InvalidSetting) -> Value, noting problems: inout [ConfigurationProblem]
    ) -> Value? {
        do {
            return try parse(text)
        } catch {
            problems.append(ConfigurationProblem(at: place, error.reason, hint: error.hint))
            return nil
        }
    }
}

/// The reason why a setting's text is invalid.
struct InvalidSetting: Error, Equatable {
    let reason: String
    let hint: String

    init(_ reason: String, hint: String) {
        self.reason = reason
        self.hint = hint
    }
}
