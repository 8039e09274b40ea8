/// The reason why bytes were refused as JSON; always the fault of who wrote them.
///
/// `offset` counts bytes from the start of the text. Nothing of the text itself is carried.
public enum JSONError: Error, Sendable, Equatable {
    /// The text ends inside a value, or holds none; it was cut off or is empty.
    case unexpectedEnd(offset: Int)
    /// A byte stands where the grammar has no place for it (RFC 8259 §2).
    case unexpectedByte(offset: Int)
    /// Something other than white space follows the one value; two texts were joined.
    case trailingBytes(offset: Int)
    /// The text begins with a byte order mark (RFC 8259 §8.1); save the file without one.
    case byteOrderMark(offset: Int)
    /// A number has a leading zero, a lone sign, or no digit where one is due (RFC 8259 §6).
    case invalidNumber(offset: Int)
    /// A backslash is followed by something that is no escape (RFC 8259 §7).
    case invalidEscape(offset: Int)
    /// A control character stands unescaped in a string (RFC 8259 §7).
    case controlCharacter(offset: Int)
    /// A string holds bytes that are not UTF-8 (RFC 3629 §4); the text has another encoding or was cut.
    case invalidUTF8(offset: Int)
    /// More containers are open at once than `JSONLimits.maximumDepth`.
    case tooDeep(maximum: Int, offset: Int)
    /// The text is longer than `JSONLimits.maximumBytes`.
    case tooLong(maximum: Int, offset: Int)
    /// The text holds more values than `JSONLimits.maximumNodes`.
    case tooManyNodes(maximum: Int, offset: Int)

    /// The byte at which reading stopped, counted from the start of the text.
    public var offset: Int {
        switch self {
        case .unexpectedEnd(let offset), .unexpectedByte(let offset), .trailingBytes(let offset),
            .byteOrderMark(let offset), .invalidNumber(let offset), .invalidEscape(let offset),
            .controlCharacter(let offset), .invalidUTF8(let offset), .tooDeep(_, let offset),
            .tooLong(_, let offset), .tooManyNodes(_, let offset):
            offset
        }
    }

    /// Finds line and column of the error in the text that was refused.
    ///
    /// Both count from 1; a line ends with a line feed; a column is one character (Unicode scalar).
    public func position(in bytes: [UInt8]) -> (line: Int, column: Int) {
        textPosition(of: offset, in: bytes)
    }
}

extension JSONError: CustomStringConvertible {
    /// What is wrong and at which byte, for logs and terminals.
    public var description: String {
        "\(reason) at byte \(offset)"
    }

    /// What is wrong, without the place.
    public var reason: String {
        switch self {
        case .unexpectedEnd: "the text ends too early"
        case .unexpectedByte: "unexpected character"
        case .trailingBytes: "more than one value"
        case .byteOrderMark: "byte order mark"
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
