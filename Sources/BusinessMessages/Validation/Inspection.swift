package import BalloonJSON

/// A check of one value, which reports all problems that it finds.
typealias Check = @Sendable (JSONValue, inout Inspection) -> Void

/// The state of a message's inspection: the problems found so far, and the section that describes the current object.
struct Inspection {
    /// The maximum work of an inspection: a step is a value, or 64 bytes of its text.
    ///
    /// A message within ``MessageBounds`` needs a small part of it. A clock is not used, so that a message has
    /// the same result on a busy machine, when it is sent and when it is checked before.
    static let maximumSteps = 4_000_000

    private typealias Description = (rule: MessageRule, found: String, allowed: String, passage: String)
    private var findings = FirstFindings<Description>()
    private var stepsLeft: Int
    /// Today's date in the time zone that is farthest ahead; nil when the caller gave no time.
    let today: CalendarDate?
    /// The author of the documentation that problems cite, such as `Apple MSP API`.
    private let author: String
    /// The section of the documentation that describes the current object.
    private var section = ""

    init(author: String = "Apple MSP API", now seconds: Int? = nil, maximumSteps: Int = Self.maximumSteps) {
        self.author = author
        stepsLeft = maximumSteps
        // The time zone that is farthest ahead is 14 hours ahead of GMT.
        today = seconds.map { CalendarDate(atSeconds: $0.addingReportingOverflow(14 * 3600).partialValue) }
    }

    /// Reports that `value` breaks a rule, or that it lacks the member `missing`.
    ///
    /// The descriptions are evaluated only for a problem that is listed.
    mutating func report(
        _ rule: MessageRule, at value: JSONValue, missing name: String? = nil,
        found: @autoclosure () -> String? = nil, allowed: @autoclosure () -> String
    ) {
        let (author, section) = (author, section)
        findings.add(at: value, missing: name, isError: rule.severity == .error) {
            (
                rule, found() ?? (name == nil ? value.shortened : "nothing"), allowed(),
                rule.passage ?? "\(author), \"\(section)\""
            )
        }
    }

    /// Whether an error was found, listed or not.
    var hasErrors: Bool { findings.hasErrors }

    /// Whether the work may go on; false after ``maximumSteps``.
    var isWithinSteps: Bool { stepsLeft > 0 }

    /// Runs the checks of a whole message, unless it has too many parts; see ``MessageBounds``.
    ///
    /// A message that was not fully checked is refused.
    mutating func check(_ message: JSONValue, _ check: Check) {
        if let excess = MessageBounds.standard.excess(in: message) {
            return report(
                .fullyChecked, at: excess.place, found: "\(excess.found), not fully checked",
                allowed: excess.allowed)
        }
        check(message, &self)
        if !isWithinSteps {
            report(
                .fullyChecked, at: message, found: "a message that was not fully checked",
                allowed: "a message that needs less work")
        }
    }

    /// At most 100 problems in the order of the text, errors before warnings.
    var problems: [MessageProblem] {
        findings.listed.map { listed in
            MessageProblem(
                rule: listed.finding.rule, pointer: listed.pointer, line: listed.position.line,
                column: listed.position.column, found: listed.finding.found, allowed: listed.finding.allowed,
                passage: listed.finding.passage)
        }
    }

    /// Checks each member of an object as `section` describes it, and then runs `then` on the whole object.
    mutating func inspect(_ value: JSONValue, as members: [Member], in section: String, then: Check? = nil) {
        let outer = self.section
        self.section = section
        defer { self.section = outer }
        guard value.kind == .object else { return report(.type, at: value, allowed: "an object") }
        spend(on: value)
        guard isWithinSteps else { return }
        reportNames(of: value, members)
        for member in members {
            if let found = value[member.name] {
                member.check(found, &self)
            } else if member.isRequired {
                report(.required, at: value, missing: member.name, allowed: "\(member.name), always")
            }
        }
        if isWithinSteps { then?(value, &self) }
    }

    /// Counts the work for a value without its parts.
    mutating func spend(on value: JSONValue) {
        switch value.kind {
        case .object, .array: stepsLeft -= 1 + value.count
        case .string, .number, .boolean, .null: stepsLeft -= 1 + value.text.count / 64
        }
    }

    private mutating func reportNames(of value: JSONValue, _ members: [Member]) {
        var names: Set<ArraySlice<UInt8>> = []
        var all = value.members
        while let (name, member) = all.nextWithBytes() {
            if !names.insert(name).inserted {
                report(
                    .repeatedMember, at: member, found: shortText(name, maximumScalars: 40) + " again",
                    allowed: "each name once")
            }
            guard !members.contains(where: { $0.name.utf8.elementsEqual(name) }) else { continue }
            report(
                .unknownMember, at: member, found: shortText(name, maximumScalars: 40),
                allowed: Self.allowed(members.map(\.name), insteadOf: name))
        }
    }

    private static func allowed(_ known: [String], insteadOf name: ArraySlice<UInt8>) -> String {
        // A much longer name is no misspelling of a known one.
        let meant = name.count > 64 ? nil : known.first { $0.isLike(String(decoding: name, as: UTF8.self)) }
        return known.joined(separator: " ") + (meant.map { "; did you mean \($0)?" } ?? "")
    }
}

/// An optional or required member of an object.
struct Member: Sendable {
    let name: String
    let isRequired: Bool
    let check: Check

    static func required(_ name: String, _ check: @escaping Check) -> Member {
        Member(name: name, isRequired: true, check: check)
    }

    static func optional(_ name: String, _ check: @escaping Check) -> Member {
        Member(name: name, isRequired: false, check: check)
    }
}

extension JSONValue {
    /// A short form of the value, for a problem report.
    package var shortened: String {
        switch kind {
        case .object: "an object"
        case .array: count == 0 ? "an empty list" : "a list"
        case .null: "null"
        case .number, .boolean: String(decoding: text.prefix(24), as: UTF8.self)
        case .string:
            textBytes.map { $0.isEmpty ? "an empty text" : "\"\(shortText($0, maximumScalars: 40))\"" } ?? ""
        }
    }
}

extension String {
    /// Whether two names differ in case, punctuation or a plural only.
    fileprivate func isLike(_ other: String) -> Bool {
        func folded(_ name: String) -> String {
            let letters = name.lowercased().filter(\.isLetter)
            return letters.hasSuffix("s") ? String(letters.dropLast()) : letters
        }
        return folded(self) == folded(other)
    }
}
