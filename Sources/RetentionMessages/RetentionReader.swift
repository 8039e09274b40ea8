import BalloonJSON

/// Reads the members of JSON objects and collects the first problems.
struct RetentionReader {
    private typealias Description = (
        rule: RetentionRule, severity: RetentionProblem.Severity, found: String, allowed: String
    )
    private var findings = FirstFindings<Description>()

    /// At most 100 problems in the order of the text, errors before warnings.
    var problems: [RetentionProblem] {
        findings.listed.map { listed in
            RetentionProblem(
                rule: listed.finding.rule, severity: listed.finding.severity, pointer: listed.pointer,
                line: listed.position.line, column: listed.position.column, found: listed.finding.found,
                allowed: listed.finding.allowed)
        }
    }

    mutating func report(
        _ rule: RetentionRule, at value: JSONValue, adding member: String? = nil,
        severity: RetentionProblem.Severity = .error, found: @autoclosure () -> String,
        allowed: @autoclosure () -> String
    ) {
        findings.add(at: value, missing: member, isError: severity == .error) {
            (rule, severity, found(), allowed())
        }
    }

    /// Reports missing, unknown and repeated members of an object; returns whether it has all that are
    /// required.
    mutating func isObject(_ value: JSONValue, required: [String], optional: [String] = []) -> Bool {
        guard value.kind == .object else {
            report(.form, at: value, found: "another kind of value", allowed: "an object")
            return false
        }
        var seen: Set<String> = []
        var members = value.members
        while let (bytes, member) = members.nextWithBytes() {
            guard let name = (required + optional).first(where: { $0.utf8.elementsEqual(bytes) }) else {
                let known = (required + optional).joined(separator: ", ")
                report(.unknown, at: member, found: "an unknown member", allowed: known)
                continue
            }
            if !seen.insert(name).inserted {
                report(.unknown, at: member, found: "the member twice", allowed: "one of them")
            }
        }
        for name in required where !seen.contains(name) {
            report(.missing, at: value, adding: name, found: "nothing", allowed: "the member")
        }
        return required.allSatisfy { seen.contains($0) }
    }

    /// The text of a member; nil when the member is absent, and after reporting a member that is empty or no
    /// text.
    mutating func text(_ name: String, of value: JSONValue) -> String? {
        guard let member = value[name] else { return nil }
        guard let text = member.string, !text.isEmpty else {
            report(.form, at: member, found: "no text", allowed: "a text that is not empty")
            return nil
        }
        return text
    }

    /// The text of a member, checked against a maximum length.
    ///
    /// Apple does not document the unit of its limits. More code points than the maximum are therefore an
    /// error, and more UTF-16 units or bytes are a warning.
    mutating func text(
        _ name: String, of value: JSONValue, maximum: Int, rule: RetentionRule
    ) -> String? {
        guard let member = value[name], let text = text(name, of: value) else { return nil }
        let points = text.unicodeScalars.count
        if points > maximum {
            report(rule, at: member, found: "\(points) characters", allowed: "\(maximum)")
        } else if text.utf16.count > maximum {
            report(
                rule, at: member, severity: .warning, found: "\(text.utf16.count) UTF-16 units",
                allowed: "\(maximum) characters")
        } else if text.utf8.count > maximum {
            report(
                rule, at: member, severity: .warning, found: "\(text.utf8.count) bytes",
                allowed: "\(maximum) characters")
        }
        return text
    }
}
