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
            problems.add(at: place, error.reason, hint: error.hint)
            return nil
        }
    }

    /// The text of the file that the setting names; nil after reporting a problem.
    func content(noting problems: inout [ConfigurationProblem]) -> Setting? {
        parsed(ConfigurationFile.text, noting: &problems).map { Setting(text: $0, place: place) }
    }
}

/// Returns the text of a setting if it is valid.
func checked(
    _ text: String, _ isValid: Bool, _ reason: String, hint: String
) throws(InvalidSetting) -> String {
    guard isValid else { throw InvalidSetting(reason, hint: hint) }
    return text
}

/// Returns `value`; throws when it is nil.
func checked<Value>(_ value: Value?, _ reason: String, hint: String) throws(InvalidSetting) -> Value {
    guard let value else { throw InvalidSetting(reason, hint: hint) }
    return value
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
