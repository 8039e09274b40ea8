package import BalloonJSON

/// A check of one value, which reports all problems that it finds.
typealias Check = @Sendable (JSONValue, inout Inspection) -> Void

/// The state of a message's inspection: the problems found so far, and the section that describes the current object.
struct Inspection {
    private(set) var problems: [MessageProblem] = []
    /// Today's date in the time zone that is farthest ahead; nil when the caller gave no time.
    let today: CalendarDate?
    /// The author of the documentation that problems cite, such as `Apple MSP API`.
    private let author: String
    /// The section of the documentation that describes the current object.
    private var section = ""

    init(author: String = "Apple MSP API", now seconds: Int? = nil) {
        self.author = author
        // The time zone that is farthest ahead is 14 hours ahead of GMT.
        today = seconds.map { CalendarDate(atSeconds: $0.addingReportingOverflow(14 * 3600).partialValue) }
    }

    /// Reports that `value` breaks a rule, or that it lacks the member `missing`.
    mutating func report(
        _ rule: MessageRule, at value: JSONValue, missing name: String? = nil, found: String? = nil,
        allowed: String
    ) {
        let position = value.position
        problems.append(
            MessageProblem(
                rule: rule, pointer: value.pointer + (name.map { "/" + $0 } ?? ""), line: position.line,
                column: position.column, found: found ?? (name == nil ? value.shortened : "nothing"),
                allowed: allowed, passage: rule.passage ?? "\(author), \"\(section)\""))
    }

    /// Checks each member of an object as `section` describes it, and then runs `then` on the whole object.
    mutating func inspect(
        _ value: JSONValue, as members: [Member], in section: String, then: Check? = nil
    ) {
        let outer = self.section
        self.section = section
        defer { self.section = outer }
        guard value.kind == .object else { return report(.type, at: value, allowed: "an object") }
        reportNames(of: value, members)
        for member in members {
            if let found = value[member.name] {
                member.check(found, &self)
            } else if member.isRequired {
                report(.required, at: value, missing: member.name, allowed: "\(member.name), always")
            }
        }
        then?(value, &self)
    }

    private mutating func reportNames(of value: JSONValue, _ members: [Member]) {
        var names: Set<String> = []
        for (name, member) in value.members {
            if !names.insert(name).inserted {
                report(.repeatedMember, at: member, found: name + " again", allowed: "each name once")
            }
            guard !members.contains(where: { $0.name == name }) else { continue }
            let known = members.map(\.name)
            let meant = known.first { $0.isLike(name) }.map { "; did you mean \($0)?" } ?? ""
            report(.unknownMember, at: member, found: name, allowed: known.joined(separator: " ") + meant)
        }
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
            string.map { $0.isEmpty ? "an empty text" : "\"\($0.prefix(40))\($0.count > 40 ? "…" : "")\"" }
                ?? ""
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
