internal import BalloonJSON

/// A check of one value; it reports what is wrong and never stops.
typealias Check = @Sendable (JSONValue, inout Inspection) -> Void

/// What was found so far in one message.
struct Inspection {
    private(set) var problems: [MessageProblem] = []
    /// Who wrote the documents that the sections belong to.
    private let author: String
    /// The section of the documents that describes the object being checked.
    private var section = ""

    init(author: String = "Apple MSP API") { self.author = author }

    /// Notes that `value` breaks a rule, or that it lacks the member `missing`.
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

    /// Checks the members of an object that `section` describes, then the object as a whole.
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
            let meant = known.first { $0.isLike(name) }.map { "; \($0) may be meant" } ?? ""
            report(.unknownMember, at: member, found: name, allowed: known.joined(separator: " ") + meant)
        }
    }
}

/// A member that an object may or must have.
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
    /// The value in a few words, for a person who looks for it.
    var shortened: String {
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
