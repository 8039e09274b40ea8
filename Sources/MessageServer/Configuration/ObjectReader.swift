import BalloonJSON

/// Reads the members of one JSON object of a file and collects all problems.
struct ObjectReader {
    /// The problems found so far, in this object and those inside it.
    private(set) var problems: [ConfigurationProblem] = []
    private let value: JSONValue
    private let file: String

    /// Starts with an object in which only `keys` are allowed, each of them once.
    init(_ value: JSONValue, file: String, keys: [String]) {
        self.value = value
        self.file = file
        guard value.kind == .object else {
            report(value, "is not an object", hint: "write { … }")
            return
        }
        var seen: Set<String> = []
        for (key, member) in value.members {
            if !keys.contains(key) {
                report(member, "is not a known key", hint: hint(for: key, among: keys))
            } else if !seen.insert(key).inserted {
                report(member, "is given twice", hint: "keep one of them")
            }
        }
    }

    /// Reports a problem with the object as a whole.
    mutating func problem(_ reason: String, hint: String) { report(value, reason, hint: hint) }

    /// Reports a problem with a setting that was read here.
    mutating func report(_ setting: Setting, _ reason: String, hint: String) {
        problems.append(ConfigurationProblem(at: setting.place, reason, hint: hint))
    }

    /// Adds the problems of settings that were read here.
    mutating func add(_ problems: [ConfigurationProblem]) { self.problems += problems }

    /// Returns the member `key` as a text; nil when it is absent, or after reporting a problem.
    mutating func text(_ key: String) -> Setting? {
        value[key].flatMap { text($0) }
    }

    /// Returns the member `key` as a list of texts; nil when it is absent, or after reporting a problem.
    mutating func texts(_ key: String) -> [Setting]? {
        guard let member = value[key] else { return nil }
        guard member.kind == .array, member.count > 0 else {
            report(member, "is not a list of strings", hint: "write [\"…\", \"…\"]")
            return nil
        }
        return member.elements.compactMap { text($0) }
    }

    /// Returns the member `key` as a whole number within `range`; nil when it is absent, or after reporting a problem.
    mutating func integer(_ key: String, in range: ClosedRange<Int>) -> Int? {
        guard let member = value[key] else { return nil }
        guard let number = member.int, range.contains(number) else {
            report(
                member, "is not a whole number in its range",
                hint: "write a number from \(range.lowerBound) to \(range.upperBound)")
            return nil
        }
        return number
    }

    /// Returns the member `key` as a truth value; nil when it is absent, or after reporting a problem.
    mutating func flag(_ key: String) -> Bool? {
        guard let member = value[key] else { return nil }
        guard let flag = member.bool else {
            report(member, "is neither true nor false", hint: "write true or false, without quotation marks")
            return nil
        }
        return flag
    }

    /// Reads the member `key`, an object in which only `keys` are allowed, with `body`; nil when it is absent
    /// or no object.
    mutating func object<Result>(
        _ key: String, keys: [String], _ body: (inout ObjectReader) -> Result?
    ) -> Result? {
        guard let member = value[key] else { return nil }
        var reader = ObjectReader(member, file: file, keys: keys)
        let result = member.kind == .object ? body(&reader) : nil
        problems += reader.problems
        return result
    }

    /// Reads each element of the list `key` as an object with `body`; elements with a problem are left out.
    mutating func objects<Result>(
        _ key: String, keys: [String], maximum: Int, _ body: (inout ObjectReader) -> Result?
    ) -> [Result]? {
        guard let member = value[key] else { return nil }
        guard member.kind == .array, member.count <= maximum else {
            report(member, "is not a list of at most \(maximum) objects", hint: "write [{ … }, { … }]")
            return nil
        }
        var results: [Result] = []
        for element in member.elements {
            var reader = ObjectReader(element, file: file, keys: keys)
            if element.kind == .object, let result = body(&reader) { results.append(result) }
            problems += reader.problems
        }
        return results
    }

    /// Returns the member `key`, which must be an object; nil when it is absent, or after reporting a
    /// problem.
    mutating func anyObject(_ key: String) -> JSONValue? {
        guard let member = value[key] else { return nil }
        guard member.kind == .object else {
            report(member, "is not an object", hint: "write { … }")
            return nil
        }
        return member
    }

    /// Whether the member `key` exists, of any kind.
    func has(_ key: String) -> Bool { value[key] != nil }

    private mutating func text(_ member: JSONValue) -> Setting? {
        guard let text = member.string else {
            report(member, "is not a string", hint: "write it in quotation marks")
            return nil
        }
        return Setting(text: text, place: place(of: member))
    }

    private mutating func report(_ value: JSONValue, _ reason: String, hint: String) {
        problems.append(ConfigurationProblem(at: place(of: value), reason, hint: hint))
    }

    private func place(of value: JSONValue) -> ConfigurationPlace {
        let (line, column) = value.position
        return .value(file: file, line: line, column: column, pointer: value.pointer)
    }
}

private func hint(for key: String, among keys: [String]) -> String {
    let known = keys.joined(separator: ", ")
    guard let nearest = nearestSpelling(to: key, among: keys) else { return "use one of the keys \(known)" }
    return "did you mean \(nearest)? The known keys are \(known)"
}
