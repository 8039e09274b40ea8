import BalloonHTTP
import BalloonPOSIX

/// One parameter of an operation's path, query or header, with the values that it accepts.
struct APIParameter: Sendable {
    /// The values that a parameter accepts.
    struct Format: Sendable {
        let schema: JSONSchema
        /// The accepted values in words, for error texts.
        let description: String
        /// A decoded `+` is a space (WHATWG URL §5.1), but the author of an identifier with `+` means a plus sign: the search
        /// would find nothing.
        var refusesPlus = false
        /// Whether a decoded value is accepted.
        let accepts: @Sendable (String) -> Bool
    }

    let name: String
    let format: Format
    let summary: String
    /// Whether the query may contain it several times.
    let isRepeatable: Bool
    /// Whether every request must have the parameter.
    let isRequired: Bool

    init(
        _ name: String, _ format: Format, _ summary: String, isRepeatable: Bool = false,
        isRequired: Bool = false
    ) {
        (self.name, self.format, self.summary) = (name, format, summary)
        (self.isRepeatable, self.isRequired) = (isRepeatable, isRequired)
    }

    /// The maximum number of entries on one page of a list.
    static let limit = APIParameter(
        "limit", .integer(1...200), "The maximum number of entries; 50 by default.")
    /// The place in a list at which a page begins.
    static let cursor = APIParameter(
        "cursor", .text(maximumBytes: 512), "The cursor of the next page, from the field Link.")
}

extension APIParameter.Format {
    private static let filled: JSONSchema = #"{"type":"string","minLength":1}"#

    /// 1 to `maximum` bytes of UTF-8.
    static func text(maximumBytes maximum: Int) -> Self {
        Self(schema: filled, description: "1 to \(maximum) bytes of UTF-8") {
            (1...maximum).contains($0.utf8.count)
        }
    }

    /// An identifier of 1 to `maximum` bytes of UTF-8 without control characters, as messages contain it.
    static func identifier(maximumBytes maximum: Int) -> Self {
        Self(
            schema: filled,
            description: "an identifier of 1 to \(maximum) bytes without control characters",
            refusesPlus: true
        ) { value in
            (1...maximum).contains(value.utf8.count) && value.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
        }
    }

    /// A number of digits only, without a sign, which `Int` would accept.
    static func integer(_ range: ClosedRange<Int>) -> Self {
        Self(
            schema: .integer(range),
            description: "a number from \(range.lowerBound) to \(range.upperBound)"
        ) { value in
            value.utf8.allSatisfy { (0x30...0x39).contains($0) } && Int(value).map(range.contains) ?? false
        }
    }

    /// One of these words.
    static func choice(_ words: [String]) -> Self {
        Self(
            schema: .choice(words, type: "string"), description: "one of \(words.joined(separator: ", "))",
            accepts: words.contains)
    }

    /// An instant (RFC 3339 §5.6).
    static let time = Self(
        schema: .time, description: "an instant as in RFC 3339, such as 2026-11-22T20:00:00Z"
    ) { Timestamp(rfc3339: $0) != nil }
    static let flag = Self(schema: .flag, description: "true or false") { $0 == "true" || $0 == "false" }
    /// A SHA-256, such as the name of a conversation's file.
    static let hash = Self(schema: .hash, description: "64 hexadecimal digits in lower case") {
        $0.utf8.count == 64 && $0.utf8.allSatisfy(isLowerHexDigit)
    }
    static let key = Self(
        schema: #"{"type":"string","pattern":"^[!-~]{1,200}$"}"#,
        description: "1 to 200 visible ASCII characters", accepts: IdempotencyKey.isValid)
    /// Any value of a header field.
    static let field = Self(schema: .text, description: "a text") { _ in true }
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
