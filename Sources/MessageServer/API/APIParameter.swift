import BalloonHTTP
import BalloonPOSIX

/// One parameter of an operation's path, query or header, with the values that it accepts.
struct APIParameter: Sendable {
    /// The accepted values.
    enum Format: Sendable, Equatable {
        /// 1 to `maximumBytes` bytes of UTF-8.
        case text(maximumBytes: Int)
        /// An identifier of 1 to `maximumBytes` bytes of UTF-8 without control characters, as messages contain it.
        case identifier(maximumBytes: Int)
        case integer(ClosedRange<Int>)
        /// One of these words.
        case choice([String])
        /// An instant (RFC 3339 §5.6).
        case time
        /// `true` or `false`.
        case flag
        /// A SHA-256 in lower-case hexadecimal, such as the name of a conversation's file.
        case hash
        /// 1 to 200 visible ASCII characters.
        case key
        /// Any value of a header field.
        case field
    }

    let name: String
    let format: Format
    let summary: String
    /// Whether the query may contain it several times.
    var isRepeatable = false
    /// Whether every request must have the parameter.
    var isRequired = false

    init(
        _ name: String, _ format: Format, _ summary: String, isRepeatable: Bool = false,
        isRequired: Bool = false
    ) {
        self.isRequired = isRequired
        self.name = name
        self.format = format
        self.summary = summary
        self.isRepeatable = isRepeatable
    }

    /// The maximum number of entries on one page of a list.
    static let limit = APIParameter(
        "limit", .integer(1...200), "The maximum number of entries; 50 by default.")
    /// The place in a list at which a page begins.
    static let cursor = APIParameter(
        "cursor", .text(maximumBytes: 512), "The cursor of the next page, from the field Link.")
}

extension APIParameter.Format {
    /// Whether a decoded value is accepted.
    func accepts(_ value: String) -> Bool {
        switch self {
        case .text(let maximum): (1...maximum).contains(value.utf8.count)
        case .identifier(let maximum):
            (1...maximum).contains(value.utf8.count) && value.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
        case .integer(let range): integer(value).map(range.contains) ?? false
        case .choice(let words): words.contains(value)
        case .time: Timestamp(rfc3339: value) != nil
        case .flag: value == "true" || value == "false"
        case .hash: value.utf8.count == 64 && value.utf8.allSatisfy(isLowerHexDigit)
        case .key: IdempotencyKey.isValid(value)
        case .field: true
        }
    }

    /// Whether a parameter of a query is accepted.
    ///
    /// A decoded `+` is a space (WHATWG URL §5.1), but the author of an identifier with `+` means a plus sign: the
    /// search would find nothing.
    func accepts(_ parameter: HTTPQuery.Parameter) -> Bool {
        if case .identifier = self, parameter.hasPlus { return false }
        return accepts(parameter.value)
    }

    /// The accepted values in words, for error texts.
    var description: String {
        switch self {
        case .text(let maximum): "1 to \(maximum) bytes of UTF-8"
        case .identifier(let maximum): "an identifier of 1 to \(maximum) bytes without control characters"
        case .integer(let range): "a number from \(range.lowerBound) to \(range.upperBound)"
        case .choice(let words): "one of \(words.joined(separator: ", "))"
        case .time: "an instant as in RFC 3339, such as 2026-11-22T20:00:00Z"
        case .flag: "true or false"
        case .hash: "64 hexadecimal digits in lower case"
        case .key: "1 to 200 visible ASCII characters"
        case .field: "a text"
        }
    }

    /// Parses a number of digits only; nil for other texts, such as a number with a sign, which `Int` would accept.
    private func integer(_ value: String) -> Int? {
        value.utf8.allSatisfy { (0x30...0x39).contains($0) } ? Int(value) : nil
    }
}

private func isLowerHexDigit(_ byte: UInt8) -> Bool {
    (0x30...0x39).contains(byte) || (0x61...0x66).contains(byte)
}

/// The parameters of paths, each with the same meaning in every operation.
enum APIPath {
    /// The parameter with this name; nil for an unknown name.
    static func parameter(_ name: String) -> APIParameter? { parameters.first { $0.name == name } }

    static let parameters = [
        APIParameter("slug", .text(maximumBytes: 64), "The business, by its slug."),
        APIParameter("c", .hash, "The conversation, by the name of its file."),
        APIParameter("record", .integer(0...Int.max), "The message, by its record in the journal."),
        APIParameter("id", .text(maximumBytes: 512), "The message or reply, by its identifier."),
        APIParameter("n", .integer(0...9999), "The number of the attachment, from 0."),
    ]

    /// Returns the names in braces in a path, in their order.
    static func names(in path: String) -> [String] {
        path.split(separator: "/").filter { $0.hasPrefix("{") && $0.hasSuffix("}") }
            .map { String($0.dropFirst().dropLast()) }
    }
}
