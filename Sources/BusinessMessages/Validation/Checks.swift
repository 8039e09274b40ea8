internal import BalloonJSON

/// Checks of single values, which are combined to the shapes of messages.
enum Checks {
    /// Any value.
    static let any: Check = { _, _ in }

    /// A text, possibly empty.
    static let text: Check = { value, inspection in _ = textOrReport(value, &inspection) }

    /// A text that is not empty.
    static let words: Check = { value, inspection in _ = wordsOrReport(value, &inspection) }

    /// `true` or `false`.
    static let boolean: Check = { value, inspection in
        if value.kind != .boolean { inspection.report(.type, at: value, allowed: "true or false") }
    }

    /// A number.
    static let number: Check = { value, inspection in
        if value.kind != .number { inspection.report(.type, at: value, allowed: "a number") }
    }

    /// A whole number.
    static let integer: Check = { value, inspection in
        if value.int == nil { inspection.report(.type, at: value, allowed: "a whole number") }
    }

    /// An identifier: a text, or a whole number where Apple's tables contradict each other.
    static let looseIdentifier: Check = { value, inspection in
        guard value.int == nil else { return }
        if value.kind == .string {
            words(value, &inspection)
        } else {
            inspection.report(.type, at: value, allowed: "a text or a whole number")
        }
    }

    /// The identifier of an image: a text, possibly empty, or a whole number.
    static let imageIdentifier: Check = { value, inspection in
        if value.kind != .string, value.int == nil {
            inspection.report(.type, at: value, allowed: "a text or a whole number")
        }
    }

    /// `null`, or a value that `check` accepts.
    static func nullable(_ check: @escaping Check) -> Check {
        { value, inspection in
            if !value.isNull { check(value, &inspection) }
        }
    }

    /// A whole number of at least `minimum`.
    static func integer(from minimum: Int, _ rule: MessageRule) -> Check {
        { value, inspection in
            guard let number = value.int else {
                return inspection.report(.type, at: value, allowed: "a whole number")
            }
            if number < minimum { inspection.report(rule, at: value, allowed: "\(minimum) or more") }
        }
    }

    /// A text of at most `maximum` Unicode scalars.
    static func text(
        atMost maximum: Int, _ rule: MessageRule, mayBeEmpty: Bool = true
    ) -> Check {
        { value, inspection in
            let text = mayBeEmpty ? textOrReport(value, &inspection) : wordsOrReport(value, &inspection)
            guard let length = text?.unicodeScalars.count, length > maximum else { return }
            inspection.report(
                rule, at: value, found: "\(length) characters", allowed: "at most \(maximum) characters")
        }
    }

    /// A text that `isAllowed` accepts; `allowed` describes it.
    static func text(
        _ rule: MessageRule, allowed: String, _ isAllowed: @escaping @Sendable (String) -> Bool
    ) -> Check {
        { value, inspection in
            guard let text = textOrReport(value, &inspection), !isAllowed(text) else { return }
            inspection.report(rule, at: value, allowed: allowed)
        }
    }

    /// One of the given texts.
    static func oneOf(_ texts: [String], _ rule: MessageRule) -> Check {
        text(rule, allowed: texts.joined(separator: " "), texts.contains)
    }

    /// A list of at least `minimum` elements.
    static func list(of check: @escaping Check, minimum: Int = 0) -> Check {
        { value, inspection in
            guard value.kind == .array else {
                return inspection.report(.type, at: value, allowed: "a list")
            }
            if value.count < minimum { inspection.report(.empty, at: value, allowed: "at least \(minimum)") }
            for element in value.elements { check(element, &inspection) }
        }
    }

    /// An object that a section of the documentation describes.
    static func object(_ section: String, _ members: [Member], then: Check? = nil) -> Check {
        { value, inspection in inspection.inspect(value, as: members, in: section, then: then) }
    }

    /// Several checks in sequence.
    static func all(_ checks: Check...) -> Check {
        { value, inspection in
            for check in checks { check(value, &inspection) }
        }
    }

    private static func textOrReport(_ value: JSONValue, _ inspection: inout Inspection) -> String? {
        guard let text = value.string else {
            inspection.report(.type, at: value, allowed: "a text")
            return nil
        }
        return text
    }

    private static func wordsOrReport(_ value: JSONValue, _ inspection: inout Inspection) -> String? {
        guard let text = textOrReport(value, &inspection) else { return nil }
        if text.isEmpty { inspection.report(.empty, at: value, allowed: "a text that is not empty") }
        return text
    }
}

extension Checks {
    /// The uniqueness of `name` among objects.
    static func unique(
        _ objects: some Sequence<JSONValue>, _ name: String, _ rule: MessageRule,
        _ inspection: inout Inspection
    ) {
        var seen: Set<String> = []
        for object in objects {
            guard let member = object[name], let text = member.scalarString else { continue }
            if !seen.insert(text).inserted {
                inspection.report(rule, at: member, allowed: "each \(name) once")
            }
        }
    }
}
