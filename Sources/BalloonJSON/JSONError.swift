/// The reason why a text is not accepted as JSON; the error is always in the text.
///
/// `offset` counts bytes from the start of the text. The error contains no part of the text.
public enum JSONError: Error, Sendable, Equatable {
    /// The text ends inside a value, or is empty.
    case unexpectedEnd(offset: Int)
    /// A byte is not allowed by the grammar at its place (RFC 8259 §2).
    case unexpectedByte(offset: Int)
    /// Something other than white space follows the value, for example a second text.
    case trailingBytes(offset: Int)
    /// The text begins with a byte order mark (RFC 8259 §8.1); save the file without one.
    case byteOrderMark(offset: Int)
    /// A number has a leading zero, a lone sign, or a missing digit (RFC 8259 §6).
    case invalidNumber(offset: Int)
    /// A backslash is not followed by a valid escape (RFC 8259 §7).
    case invalidEscape(offset: Int)
    /// A string contains an unescaped control character (RFC 8259 §7).
    case controlCharacter(offset: Int)
    /// A string contains bytes that are not UTF-8 (RFC 3629 §4); the text has another encoding or was cut.
    case invalidUTF8(offset: Int)
    /// Containers are nested deeper than `JSONLimits.maximumDepth`.
    case tooDeep(maximum: Int, offset: Int)
    /// The text is longer than `JSONLimits.maximumBytes`.
    case tooLong(maximum: Int, offset: Int)
    /// The text contains more values than `JSONLimits.maximumNodes`.
    case tooManyNodes(maximum: Int, offset: Int)

    /// The byte at which parsing stopped, counted from the start of the text.
    public var offset: Int {
        switch self {
        case .unexpectedEnd(let offset), .unexpectedByte(let offset), .trailingBytes(let offset),
            .byteOrderMark(let offset), .invalidNumber(let offset), .invalidEscape(let offset),
            .controlCharacter(let offset), .invalidUTF8(let offset), .tooDeep(_, let offset),
            .tooLong(_, let offset), .tooManyNodes(_, let offset):
            offset
        }
    }

    /// Returns the line and the column of the error in the refused text.
    ///
    /// Both count from 1. A line ends with a line feed, and each Unicode scalar is one column.
    public func position(in bytes: [UInt8]) -> (line: Int, column: Int) {
        textPosition(of: offset, in: bytes)
    }
}

extension JSONError: CustomStringConvertible {
    /// The reason and the offset, for logs and terminals.
    public var description: String {
        "\(reason) at byte \(offset)"
    }

    /// The reason without the offset.
    public var reason: String {
        switch self {
        case .unexpectedEnd: "the text ends too early"
        case .unexpectedByte: "unexpected character"
        case .trailingBytes: "more than one value"
        case .byteOrderMark: "a byte order mark before the value"
        case .invalidNumber: "invalid number"
        case .invalidEscape: "invalid escape in a string"
        case .controlCharacter: "unescaped control character in a string"
        case .invalidUTF8: "invalid UTF-8"
        case .tooDeep(let maximum, _): "nested deeper than \(maximum) levels"
        case .tooLong(let maximum, _): "longer than \(maximum) bytes"
        case .tooManyNodes(let maximum, _): "more than \(maximum) values"
        }
    }
}
