internal import BalloonJSON

/// Checks of single values; larger checks combine them to describe whole messages.
enum Checks {
    /// Accepts any value.
    static let any: Check = { _, _ in }

    /// Checks that a value is a string, possibly an empty one.
    static let text: Check = { value, inspection in _ = isTextOrReport(value, &inspection) }

    /// Checks that a value is a string and not empty.
    static let words: Check = { value, inspection in _ = isWordsOrReport(value, &inspection) }

    /// Checks that a value is `true` or `false`.
    static let boolean = refuse(.type, allowed: "true or false") { $0.kind != .boolean }

    /// Checks that a value is a number.
    static let number = refuse(.type, allowed: "a number") { $0.kind != .number }

    /// Checks that a value is a whole number.
    static let integer = refuse(.type, allowed: "a whole number") { $0.int == nil }

    /// Checks that a value is a string or a whole number, for identifiers where Apple's tables contradict each other.
    static let looseIdentifier: Check = { value, inspection in
        guard value.int == nil else { return }
        if value.kind == .string {
            words(value, &inspection)
        } else {
            inspection.report(.type, at: value, allowed: "a text or a whole number")
        }
    }

    /// Checks that a value can identify an image: a string, possibly an empty one, or a whole number.
    static let imageIdentifier = refuse(.type, allowed: "a text or a whole number") {
        $0.kind != .string && $0.int == nil
    }

    /// Reports a rule for a value, or for its absent member `name`, when `isBroken` accepts the value.
    static func refuse(
        _ rule: MessageRule, missing name: String? = nil, found: String? = nil, allowed: String,
        where isBroken: @escaping @Sendable (JSONValue) -> Bool = { _ in true }
    ) -> Check {
        { value, inspection in
            guard isBroken(value) else { return }
            inspection.report(rule, at: value, missing: name, found: found, allowed: allowed)
        }
    }

    /// Reports a rule for a string of more than `maximum` bytes.
    static func bytes(atMost maximum: Int, _ rule: MessageRule) -> Check {
        { value, inspection in
            guard let bytes = value.string?.utf8.count, bytes > maximum else { return }
            inspection.report(rule, at: value, found: "\(bytes) bytes", allowed: "at most \(maximum) bytes")
        }
    }

    /// Accepts `null`; any other value must pass `check`.
    static func nullable(_ check: @escaping Check) -> Check {
        { value, inspection in
            if !value.isNull { check(value, &inspection) }
        }
    }

    /// Checks that a value is a whole number of at least `minimum`.
    static func integer(from minimum: Int, _ rule: MessageRule) -> Check {
        { value, inspection in
            guard let number = value.int else {
                return inspection.report(.type, at: value, allowed: "a whole number")
            }
            if number < minimum { inspection.report(rule, at: value, allowed: "\(minimum) or more") }
        }
    }

    /// Checks that a value is a string of at most `maximum` Unicode scalars.
    static func text(atMost maximum: Int, _ rule: MessageRule, mayBeEmpty: Bool = true) -> Check {
        { value, inspection in
            guard mayBeEmpty ? isTextOrReport(value, &inspection) : isWordsOrReport(value, &inspection),
                let length = value.string?.unicodeScalars.count, length > maximum
            else { return }
            inspection.report(
                rule, at: value, found: "\(length) characters", allowed: "at most \(maximum) characters")
        }
    }

    /// Checks that a value is a string that `isAllowed` accepts; `allowed` describes such strings in a problem.
    static func text(
        _ rule: MessageRule, allowed: String, _ isAllowed: @escaping @Sendable (String) -> Bool
    ) -> Check {
        { value, inspection in
            guard isTextOrReport(value, &inspection), let text = value.string, !isAllowed(text) else {
                return
            }
            inspection.report(rule, at: value, allowed: allowed)
        }
    }

    /// Checks that a value is one of the given strings.
    static func oneOf(_ texts: [String], _ rule: MessageRule) -> Check {
        let allowed = texts.joined(separator: " ")
        return { value, inspection in
            guard isTextOrReport(value, &inspection), !texts.contains(where: value.equals) else { return }
            inspection.report(rule, at: value, allowed: allowed)
        }
    }

    /// Checks that a value is a list of at least `minimum` elements, each of which passes `check`.
    static func list(of check: @escaping Check, minimum: Int = 0) -> Check {
        { value, inspection in
            guard value.kind == .array else {
                return inspection.report(.type, at: value, allowed: "a list")
            }
            if value.count < minimum { inspection.report(.empty, at: value, allowed: "at least \(minimum)") }
            inspection.spend(on: value)
            for element in value.elements where inspection.isWithinSteps { check(element, &inspection) }
        }
    }

    /// Checks that a value is an object with these members, as a section of the documentation describes it.
    ///
    /// `then` checks the object as a whole afterwards.
    static func object(_ section: String, _ members: [Member], then: Check? = nil) -> Check {
        { value, inspection in inspection.inspect(value, as: members, in: section, then: then) }
    }

    /// Runs several checks on the same value, one after another.
    static func all(_ checks: Check...) -> Check {
        { value, inspection in
            for check in checks { check(value, &inspection) }
        }
    }

    private static func isTextOrReport(_ value: JSONValue, _ inspection: inout Inspection) -> Bool {
        inspection.spend(on: value)
        if value.kind != .string { inspection.report(.type, at: value, allowed: "a text") }
        return value.kind == .string
    }

    private static func isWordsOrReport(_ value: JSONValue, _ inspection: inout Inspection) -> Bool {
        guard isTextOrReport(value, &inspection) else { return false }
        if value.isEmptyText { inspection.report(.empty, at: value, allowed: "a text that is not empty") }
        return true
    }
}

extension Checks {
    /// Checks that no two objects of the member `list` have the same value of the member `identifier`.
    static func unique(in list: String, _ rule: MessageRule) -> Check {
        { value, inspection in unique(value[list]?.objects ?? [], "identifier", rule, &inspection) }
    }

    /// Checks that no two objects have the same value of the member `name`.
    static func unique(
        _ objects: some Sequence<JSONValue>, _ name: String, _ rule: MessageRule,
        _ inspection: inout Inspection
    ) {
        var seen: Set<ArraySlice<UInt8>> = []
        for object in objects {
            guard let member = object[name], let text = member.scalarBytes else { continue }
            if !seen.insert(text).inserted {
                inspection.report(rule, at: member, allowed: "each \(name) once")
            }
        }
    }
}

extension JSONValue {
    /// Whether this is a string without characters.
    var isEmptyText: Bool { kind == .string && text.count == 2 }

    /// Whether this is a string of at most `maximum` bytes in its JSON form.
    func isText(atMostBytes maximum: Int) -> Bool { kind == .string && text.count - 2 <= maximum }

    /// The UTF-8 bytes of an identifier: a text, or the JSON text of a number or Boolean; nil for an empty text
    /// and for other values.
    ///
    /// Identifiers from outside are compared as bytes; see `JSONValue.textBytes`.
    var scalarBytes: ArraySlice<UInt8>? {
        switch kind {
        case .string: isEmptyText ? nil : textBytes
        case .number, .boolean: text
        case .object, .array, .null: nil
        }
    }
}

/// The first ten of some names, for a suggestion.
func tenNames(_ names: some Collection<ArraySlice<UInt8>>) -> String {
    let shown = names.prefix(10).map { shortText($0, maximumScalars: 40) }.joined(separator: " ")
    return names.count > 10 ? "\(shown) and \(names.count - 10) more" : shown
}
