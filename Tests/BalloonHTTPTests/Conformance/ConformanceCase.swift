/// The bytes of a client on one connection, and the allowed reactions of a server.
///
/// A file of cases is text; `#` begins a comment, and an empty line ends a case:
///
/// ```
/// case: a length, the body is longer
/// from: RFC 9112 §6.3
/// want: 200:hell 400 close | 400 close
/// > POST /echo HTTP/1.1
/// > Host: a
/// > Content-Length: 4
/// >
/// = hello
/// ```
///
/// `>` sends the rest of the line and CR LF, `=` sends it without. `\r`, `\n`, `\t`, `\\` and `\xHH` are
/// bytes, and `\{9000:a}` is `a` nine thousand times. `from` is the rule, or the known class of attack.
///
/// `want` lists the allowed outcomes, separated by `|`; the first is the outcome of Balloon. An outcome is
/// the answers in order, and then the state of the connection: `open` when the next request is answered,
/// `close` when no more is answered, `wait` when the request is incomplete. An answer is its status. `:` and
/// a text after it are its complete content; `/head` means that it has a length but no content. `own` marks
/// cases that depend on the server's routes, methods and limits.
struct ConformanceCase: Sendable {
    let name: String
    let source: String
    /// The allowed outcomes; never empty.
    let outcomes: [Outcome]
    let isOwn: Bool
    let bytes: [UInt8]

    struct Outcome: Sendable, Equatable {
        let answers: [Answer]
        let end: End
    }

    struct Answer: Sendable, Equatable {
        let status: Int
        /// The expected content; nil for any.
        var content: [UInt8]?
        var isHead = false
    }

    enum End: String, Sendable {
        case open, close, wait
    }

    struct Malformed: Error, CustomStringConvertible {
        let description: String
    }

    /// Parses a file of cases.
    static func read(_ text: String, file: String) throws -> [ConformanceCase] {
        var cases: [ConformanceCase] = []
        var draft = Draft()
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            do {
                if line.isEmpty {
                    if let whole = try draft.finish() { cases.append(whole) }
                    draft = Draft()
                } else if !line.hasPrefix("#") {
                    try draft.take(line)
                }
            } catch {
                throw Malformed(description: "\(file):\(index + 1): \(error)")
            }
        }
        if let last = try draft.finish() { cases.append(last) }
        return cases
    }
}

/// A partially parsed case.
private struct Draft {
    var name: Substring?
    var source: Substring?
    var outcomes: [ConformanceCase.Outcome] = []
    var isOwn = false
    var bytes: [UInt8] = []

    mutating func take(_ line: Substring) throws {
        if line.hasPrefix("case: ") {
            name = line.dropFirst(6)
        } else if line.hasPrefix("from: ") {
            source = line.dropFirst(6)
        } else if line.hasPrefix("want: ") {
            outcomes = try line.dropFirst(6).split(separator: "|").map { try outcome($0) }
        } else if line == "own" {
            isOwn = true
        } else if line == ">" {
            bytes += [0x0D, 0x0A]
        } else if line.hasPrefix("> ") {
            bytes += try unescaped(line.dropFirst(2)) + [0x0D, 0x0A]
        } else if line.hasPrefix("= ") {
            bytes += try unescaped(line.dropFirst(2))
        } else {
            throw ConformanceCase.Malformed(description: "an unknown kind of line")
        }
    }

    /// The finished case; nil when no line was parsed, and an error when a part is missing.
    func finish() throws -> ConformanceCase? {
        if name == nil, outcomes.isEmpty, bytes.isEmpty { return nil }
        guard let name, let source, !outcomes.isEmpty else {
            throw ConformanceCase.Malformed(description: "a case without case, from or want")
        }
        return ConformanceCase(
            name: String(name), source: String(source), outcomes: outcomes, isOwn: isOwn, bytes: bytes)
    }

    private func outcome(_ text: Substring) throws -> ConformanceCase.Outcome {
        let words = text.split(separator: " ")
        guard let last = words.last, let end = ConformanceCase.End(rawValue: String(last)) else {
            throw ConformanceCase.Malformed(
                description: "an outcome that does not end in open, close or wait")
        }
        return ConformanceCase.Outcome(answers: try words.dropLast().map { try answer($0) }, end: end)
    }

    private func answer(_ word: Substring) throws -> ConformanceCase.Answer {
        guard let status = Int(word.prefix { $0.isNumber }) else {
            throw ConformanceCase.Malformed(description: "an answer without a status")
        }
        var answer = ConformanceCase.Answer(status: status)
        let rest = word.drop { $0.isNumber }
        if rest == "/head" {
            answer.isHead = true
        } else if rest.hasPrefix(":") {
            answer.content = Array(rest.dropFirst().utf8)
        } else if !rest.isEmpty {
            throw ConformanceCase.Malformed(description: "an answer with unexpected text after its status")
        }
        return answer
    }
}

/// The bytes that a line represents.
private func unescaped(_ text: Substring) throws -> [UInt8] {
    let bytes = Array(text.utf8)
    var result: [UInt8] = []
    var cursor = 0
    while cursor < bytes.count {
        guard bytes[cursor] == UInt8(ascii: "\\") else {
            result.append(bytes[cursor])
            cursor += 1
            continue
        }
        guard cursor + 1 < bytes.count else {
            throw ConformanceCase.Malformed(description: "a lone backslash")
        }
        switch bytes[cursor + 1] {
        case UInt8(ascii: "r"): result.append(0x0D)
        case UInt8(ascii: "n"): result.append(0x0A)
        case UInt8(ascii: "t"): result.append(0x09)
        case UInt8(ascii: "\\"): result.append(0x5C)
        case UInt8(ascii: "x"):
            let digits = String(decoding: bytes[(cursor + 2)..<min(cursor + 4, bytes.count)], as: UTF8.self)
            guard let byte = UInt8(digits, radix: 16) else {
                throw ConformanceCase.Malformed(description: "\\x without two hex digits")
            }
            result.append(byte)
            cursor += 2
        case UInt8(ascii: "{"):
            guard let end = bytes[cursor...].firstIndex(of: UInt8(ascii: "}")),
                let colon = bytes[cursor..<end].firstIndex(of: UInt8(ascii: ":")),
                let count = Int(String(decoding: bytes[(cursor + 2)..<colon], as: UTF8.self))
            else { throw ConformanceCase.Malformed(description: "\\{ without COUNT:TEXT}") }
            let piece = try unescaped(Substring(decoding: bytes[(colon + 1)..<end], as: UTF8.self))
            for _ in 0..<count { result += piece }
            cursor = end - 1
        default: throw ConformanceCase.Malformed(description: "an unknown escape")
        }
        cursor += 2
    }
    return result
}
