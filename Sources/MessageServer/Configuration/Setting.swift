/// A text that sets something, and where it stands.
struct Setting: Sendable, Equatable {
    let text: String
    let place: ConfigurationPlace

    /// The text in its usable form; nil after a problem was noted.
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

/// Why a setting's text cannot be used.
struct InvalidSetting: Error, Equatable {
    let reason: String
    let hint: String

    init(_ reason: String, hint: String) {
        self.reason = reason
        self.hint = hint
    }
}
