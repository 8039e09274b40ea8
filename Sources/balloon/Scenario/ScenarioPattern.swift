import BusinessMessages

/// Compares a message with the pattern of a scenario: a subset, so that further members of the message do not matter.
///
/// `{"$any": true}` matches every value, `{"$match": "^A"}` a text with this regular expression, and `{"$as": "order"}` every
/// value that equals the first one of that name. A part that the server adds when it sends a sign-in or a payment matches
/// every value, because a recorded message has its placeholder.
struct ScenarioPattern {
    /// The values of `$as` so far, as JSON.
    private(set) var named: [String: String] = [:]

    private static let operators = ["$any", "$match", "$as"]

    /// Refuses an operator that is unknown, has a wrong value, or is not alone, and a message that is no object.
    static func check(_ message: JSONValue) throws(Scenario.Mistake) {
        guard message.kind == .object else {
            throw Scenario.Mistake(value: message, reason: "an expected message is an object")
        }
        try checkOperators(message)
    }

    private static func checkOperators(_ pattern: JSONValue) throws(Scenario.Mistake) {
        for element in pattern.elements { try checkOperators(element) }
        for (name, value) in pattern.members {
            guard name.hasPrefix("$") else {
                try checkOperators(value)
                continue
            }
            guard operators.contains(name), pattern.members.count(where: { _ in true }) == 1 else {
                throw Scenario.Mistake(
                    value: value,
                    reason: "\"\(name)\" is not one of $any, $match and $as, alone in its object")
            }
            switch (name, value.string) {
            case ("$any", _) where value.bool != true:
                throw Scenario.Mistake(value: value, reason: "$any is true")
            case ("$match", let text) where text.flatMap(RegularExpression.init) == nil:
                throw Scenario.Mistake(
                    value: value,
                    reason:
                        "$match is a regular expression, at most 2,048 bytes long and nested at most 32 deep")
            case ("$as", nil): throw Scenario.Mistake(value: value, reason: "$as is a name")
            default: break
            }
        }
    }

    /// Whether a recorded value is the placeholder of a part that differs at each play.
    private static func isPlaceholder(_ pattern: JSONValue) -> Bool {
        if pattern.kind == .array { return pattern.count == 1 && pattern[0].map(isPlaceholder) ?? false }
        return pattern.string == SignInRequest.placeholder
    }

    /// The differences, each in one line; empty when the value matches.
    mutating func differences(_ pattern: JSONValue, _ value: JSONValue?, at pointer: String = "") -> [String]
    {
        let place = pointer.isEmpty ? "/" : pointer
        guard let value else { return ["\(place): expected \(Self.text(pattern)), the member is missing"] }
        if pattern["$any"]?.bool == true || Self.isPlaceholder(pattern) { return [] }
        if let name = pattern["$as"]?.string { return compare(value, named: name, at: place) }
        if let expression = pattern["$match"]?.string {
            guard let regex = RegularExpression(expression) else {
                return ["\(place): \(Self.text(pattern)) is no regular expression, or too long or too deep"]
            }
            switch value.string.map(regex.occurs) {
            case .found: return []
            case .undecided: return ["\(place): whether \(expression) matches cannot be decided; simplify it"]
            case .absent, nil:
                return ["\(place): expected a text like \(expression), got \(Self.text(value))"]
            }
        }
        switch (pattern.kind, value.kind) {
        case (.object, .object):
            var found: [String] = []
            for (name, member) in pattern.members {
                found += differences(member, value[name], at: pointer + "/" + Self.escaped(name))
            }
            return found
        case (.array, .array):
            guard pattern.count == value.count else {
                return ["\(place): expected \(pattern.count) elements, got \(value.count)"]
            }
            var found: [String] = []
            for (index, pair) in zip(pattern.elements, value.elements).enumerated() {
                found += differences(pair.0, pair.1, at: "\(pointer)/\(index)")
            }
            return found
        default:
            return isEqual(pattern, value)
                ? [] : ["\(place): expected \(Self.text(pattern)), got \(Self.text(value))"]
        }
    }

    private mutating func compare(_ value: JSONValue, named name: String, at place: String) -> [String] {
        let text = Self.text(value)
        guard let earlier = named[name] else {
            named[name] = text
            return []
        }
        return earlier == text ? [] : ["\(place): expected \(name), which is \(earlier), got \(text)"]
    }

    private func isEqual(_ pattern: JSONValue, _ value: JSONValue) -> Bool {
        guard pattern.kind == value.kind else { return false }
        if let text = pattern.textBytes { return text == value.textBytes }
        if let number = pattern.double { return number == value.double }
        return pattern.text.elementsEqual(value.text)
    }

    /// A value in a line, shortened.
    private static func text(_ value: JSONValue) -> String {
        shortText(value.text, maximumScalars: 300)
    }

    private static func escaped(_ name: String) -> String {
        name.replacing("~", with: "~0").replacing("/", with: "~1")
    }
}
