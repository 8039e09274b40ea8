import BalloonJSON

/// Compares a message with the pattern of a scenario: a subset, so that further members of the message do not matter.
///
/// `{"$any": true}` matches every value, `{"$match": "^A"}` a text with this regular expression, and `{"$as": "order"}` every
/// value that equals the first one of that name.
struct ScenarioPattern {
    /// The values of `$as` so far, as JSON.
    private(set) var named: [String: String] = [:]

    /// The differences, each in one line; empty when the value matches.
    mutating func differences(_ pattern: JSONValue, _ value: JSONValue?, at pointer: String = "") -> [String]
    {
        let place = pointer.isEmpty ? "/" : pointer
        guard let value else { return ["\(place): expected \(Self.text(pattern)), the member is missing"] }
        if pattern["$any"]?.bool == true { return [] }
        if let name = pattern["$as"]?.string { return compare(value, named: name, at: place) }
        if let expression = pattern["$match"]?.string {
            guard let regex = try? Regex(expression) else {
                return ["\(place): \(expression) is no regular expression"]
            }
            if let text = value.string, text.contains(regex) { return [] }
            return ["\(place): expected a text like \(expression), got \(Self.text(value))"]
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
        if let text = pattern.string { return text == value.string }
        if let number = pattern.double { return number == value.double }
        return pattern.text.elementsEqual(value.text)
    }

    /// A value in a line, shortened.
    private static func text(_ value: JSONValue) -> String {
        let text = String(decoding: value.text, as: UTF8.self)
        return text.count > 300 ? text.prefix(300) + "…" : text
    }

    private static func escaped(_ name: String) -> String {
        name.replacing("~", with: "~0").replacing("/", with: "~1")
    }
}
