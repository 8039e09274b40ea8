internal import BalloonJSON

/// Reads values in every form that Apple sends or documents.
///
/// Apple's documents contradict each other: a string can stand in place of a number, one object in place of a
/// list, and a list in place of one object.
extension JSONValue {
    /// The string, unless it is empty.
    var nonEmptyString: String? {
        guard let string, !string.isEmpty else { return nil }
        return string
    }

    /// The string, or the JSON text of a number or Boolean; `nil` for an empty string and for other values.
    var scalarString: String? {
        // Try the common case first: asking for the kind before would read the JSON index twice.
        if let string { return string.isEmpty ? nil : string }
        return switch kind {
        case .number, .boolean: String(decoding: text, as: UTF8.self)
        case .string, .object, .array, .null: nil
        }
    }

    /// The whole number, also from a string or from a number such as `5.0`; `nil` for other values.
    var scalarInt: Int? {
        int ?? string.flatMap { Int($0) } ?? double.flatMap { Int(exactly: $0) }
    }

    /// The Boolean, also from `"true"`, `"false"`, 1 or 0; `nil` for other values.
    var scalarBool: Bool? {
        if let bool { return bool }
        return switch scalarString?.lowercased() {
        case "true", "1", "yes": true
        case "false", "0", "no": false
        default: nil
        }
    }

    /// The number, also from a string; `nil` for other values.
    var scalarDouble: Double? {
        double ?? string.flatMap { Double($0) }
    }

    /// This value if it is an object, or the first object of a list; `nil` for other values.
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

    /// The member with this name; `nil` when it is absent or null.
    func first(_ key: String) -> JSONValue? {
        guard let value = self[key], !value.isNull else { return nil }
        return value
    }

    /// The member `key`, or the member `other` when `key` is absent or null; `nil` when both are absent or
    /// null.
    func first(_ key: String, _ other: String) -> JSONValue? { first(key) ?? first(other) }
}
