import BalloonPOSIX
import BusinessMessages

/// Parses the members of a record that have simple values, without building a JSON document.
///
/// This is faster, which matters because a start of the server may parse a million records. The scanner
/// returns nil for any value that is not simple; the caller then parses the record as general JSON.
struct RecordScanner {
    /// A member's value.
    enum Value {
        /// A string without escapes, as the range of the bytes between its quotation marks.
        case string(Range<Int>)
        case number(UInt64)
        case `true`
        /// An object whose members all are strings.
        case object
    }

    private let line: ArraySlice<UInt8>
    private var position: Int

    /// Creates a scanner that starts after the type of the record.
    init(_ line: ArraySlice<UInt8>, _ header: JournalLine.Header) {
        self.line = line
        position = header.type.upperBound + 1
    }

    /// Creates a scanner that starts at the comma before a member.
    init(_ line: ArraySlice<UInt8>, from position: Int) {
        self.line = line
        self.position = position
    }

    func text(_ range: Range<Int>) -> String { String(decoding: line[range], as: UTF8.self) }

    /// Whether a name equals `wanted`.
    func name(_ range: Range<Int>, is wanted: [UInt8]) -> Bool {
        guard range.count == wanted.count else { return false }
        for offset in 0..<range.count where line[range.lowerBound + offset] != wanted[offset] { return false }
        return true
    }

    /// Parses the name of the next member; nil when no member with a simple name follows.
    mutating func nextName() -> Range<Int>? {
        guard skip(UInt8(ascii: ",")), let name = string(), skip(UInt8(ascii: ":")) else { return nil }
        return name
    }

    /// Parses the value after a name; nil when the value is not a simple one.
    mutating func value() -> Value? {
        guard position < line.endIndex else { return nil }
        switch line[position] {
        case UInt8(ascii: "\""): return string().map { .string($0) }
        case 0x30...0x39: return number().map { .number($0) }
        case UInt8(ascii: "t"):
            position += 4
            return position <= line.endIndex ? .true : nil
        case UInt8(ascii: "{"): return object() ? .object : nil
        default: return nil
        }
    }

    private mutating func skip(_ byte: UInt8) -> Bool {
        guard position < line.endIndex, line[position] == byte else { return false }
        position += 1
        return true
    }

    private mutating func string() -> Range<Int>? {
        guard skip(UInt8(ascii: "\"")) else { return nil }
        let start = position
        while position < line.endIndex {
            let byte = line[position]
            if byte == UInt8(ascii: "\\") { return nil }
            position += 1
            if byte == UInt8(ascii: "\"") { return start..<position - 1 }
        }
        return nil
    }

    private mutating func number() -> UInt64? {
        var value: UInt64 = 0
        let start = position
        while position < line.endIndex, (0x30...0x39).contains(line[position]) {
            guard position - start < 18 else { return nil }
            value = value * 10 + UInt64(line[position] - 0x30)
            position += 1
        }
        return value
    }

    private mutating func object() -> Bool {
        repeat {
            position += 1
            guard string() != nil, skip(UInt8(ascii: ":")), string() != nil else { return false }
        } while position < line.endIndex && line[position] == UInt8(ascii: ",")
        return skip(UInt8(ascii: "}"))
    }
}

extension JournalRecord {
    /// Parses a `message` or a `finished` record, the two most frequent types.
    ///
    /// Returns nil for another type, and for a record with a value that is not simple.
    static func scan(_ line: ArraySlice<UInt8>, _ header: JournalLine.Header) -> JournalRecord? {
        let scanner = RecordScanner(line, header)
        if scanner.name(header.type, is: Names.message) { return Message(scanner).map { .message($0) } }
        if scanner.name(header.type, is: Names.finished) { return Finished(scanner).map { .finished($0) } }
        return nil
    }
}

extension JournalRecord.Message {
    fileprivate init?(_ scanner: RecordScanner) {
        var scanner = scanner
        var business: String?
        var customer: String?
        var id: String?
        var at: Timestamp?
        var hasReference = false
        var replayOf: UInt64?
        while let name = scanner.nextName() {
            // All members that the scanner needs precede the message, so the scan ends here.
            if scanner.name(name, is: Names.message) { break }
            guard let value = scanner.value() else { return nil }
            switch value {
            case .string(let text) where scanner.name(name, is: Names.at):
                at = Timestamp(rfc3339: scanner.text(text))
            case .string(let text) where scanner.name(name, is: Names.business): business = scanner.text(text)
            case .string(let text) where scanner.name(name, is: Names.customer): customer = scanner.text(text)
            case .string(let text) where scanner.name(name, is: Names.id): id = scanner.text(text)
            case .number(let number) where scanner.name(name, is: Names.replayOf): replayOf = number
            case .true where scanner.name(name, is: Names.reference): hasReference = true
            case .object where scanner.name(name, is: Names.attributes): break
            case .string, .number, .true, .object: return nil
            }
        }
        guard let business, let customer, let id, let at else { return nil }
        let brand = BusinessID(business)
        conversation = ConversationKey(business: brand, customer: CustomerID(customer))
        self.id = MessageID(id)
        key = MessageKey(business: brand, id: self.id)
        self.at = at
        self.hasReference = hasReference
        self.replayOf = replayOf
        retriedReply = nil
        outboundKind = nil
        act = .writes
    }
}

extension JournalRecord.Finished {
    fileprivate init?(_ scanner: RecordScanner) {
        var scanner = scanner
        var of: UInt64?
        var kind: Kind?
        var result: JournalEvent.Status?
        var attempts = 0
        while let name = scanner.nextName(), !scanner.name(name, is: Names.crc32) {
            switch scanner.value() {
            case .number(let number) where scanner.name(name, is: Names.of): of = number
            case .number(let number) where scanner.name(name, is: Names.attempts):
                attempts = Int(clamping: number)
            case .string(let text) where scanner.name(name, is: Names.kind):
                kind = Kind(rawValue: scanner.text(text))
            case .string(let text) where scanner.name(name, is: Names.result):
                result = JournalEvent.Status(rawValue: scanner.text(text))
            case .string where scanner.name(name, is: Names.at): break
            // Other members, such as a reason, are rare; a record that has them is parsed as general JSON.
            default: return nil
            }
        }
        guard let of, of > 0, let result else { return nil }
        self.of = of
        self.kind = kind
        self.result = result
        self.attempts = attempts
        reason = nil
        original = nil
        isRefusal = false
    }
}

/// The names of record types and members that the scanner knows.
private enum Names {
    static let at = Array("at".utf8)
    static let attempts = Array("attempts".utf8)
    static let attributes = Array("attributes".utf8)
    static let business = Array("business".utf8)
    static let crc32 = Array("crc32".utf8)
    static let customer = Array("customer".utf8)
    static let finished = Array("finished".utf8)
    static let id = Array("id".utf8)
    static let kind = Array("kind".utf8)
    static let message = Array("message".utf8)
    static let of = Array("of".utf8)
    static let reference = Array("reference".utf8)
    static let replayOf = Array("replayOf".utf8)
    static let result = Array("result".utf8)
}
