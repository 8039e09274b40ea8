internal import BalloonJSON

/// Accepts every observed form where Apple's documents contradict each other: numbers as strings, one object
/// instead of a list, and a list instead of one object.
extension JSONValue {
    /// The string, unless it is empty.
    var nonEmptyString: String? {
        guard let string, !string.isEmpty else { return nil }
        return string
    }

    /// A string, or a number or Boolean in its spelling; `nil` when empty.
    var scalarString: String? {
        // The common case first: checking the kind would read the index twice.
        if let string { return string.isEmpty ? nil : string }
        return switch kind {
        case .number, .boolean: String(decoding: text, as: UTF8.self)
        case .string, .object, .array, .null: nil
        }
    }

    /// A whole number, also as a string or with a fraction of zero.
    var scalarInt: Int? {
        int ?? string.flatMap { Int($0) } ?? double.flatMap { Int(exactly: $0) }
    }

    /// A Boolean, also as `"true"`, `"false"`, 1 or 0.
    var scalarBool: Bool? {
        if let bool { return bool }
        return switch scalarString?.lowercased() {
        case "true", "1", "yes": true
        case "false", "0", "no": false
        default: nil
        }
    }

    /// A number, also as a string.
    var scalarDouble: Double? {
        double ?? string.flatMap { Double($0) }
    }

    /// The object, or the first object of a list.
    var object: JSONValue? {
        switch kind {
        case .object: self
        case .array: elements.first { $0.kind == .object }
        case .string, .number, .boolean, .null: nil
        }
    }

    /// The objects of a list; an object by itself counts as a list of one.
    var objects: [JSONValue] { objects { $0 } }

    /// The results of `transform` for the objects of a list; an object by itself counts as a list of one.
    func objects<Result>(_ transform: (JSONValue) -> Result) -> [Result] {
        guard kind == .array else { return kind == .object ? [transform(self)] : [] }
        var results: [Result] = []
        results.reserveCapacity(count)
        for element in elements where element.kind == .object { results.append(transform(element)) }
        return results
    }

    /// The member, unless it is absent or null.
    func first(_ key: String) -> JSONValue? {
        guard let value = self[key], !value.isNull else { return nil }
        return value
    }

    /// The first of two names that is present and not null.
    func first(_ key: String, _ other: String) -> JSONValue? { first(key) ?? first(other) }
}
