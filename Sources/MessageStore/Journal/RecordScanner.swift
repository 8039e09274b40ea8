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

    /// Parses the name of the next member; nil when no member with a simple name follows.
    mutating func nextName() -> String? {
        guard skip(UInt8(ascii: ",")), let name = string(), skip(UInt8(ascii: ":")) else { return nil }
        return text(name)
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
        var scanner = RecordScanner(line, header)
        return switch scanner.text(header.type) {
        case "message": scanner.message().map { .message($0) }
        case "finished": scanner.finished()
        default: nil
        }
    }
}

extension RecordScanner {
    /// Parses the members of a `message` record.
    fileprivate mutating func message() -> JournalRecord.Message? {
        var business: String?
        var customer: String?
        var id: String?
        var at: Timestamp?
        var hasReference = false
        var replayOf: UInt64?
        // All members that the scanner needs precede the message, so the scan ends there.
        while let name = nextName(), name != "message" {
            switch (name, value()) {
            case ("at", .string(let range)?): at = Timestamp(rfc3339: text(range))
            case ("business", .string(let range)?): business = text(range)
            case ("customer", .string(let range)?): customer = text(range)
            case ("id", .string(let range)?): id = text(range)
            case ("replayOf", .number(let number)?): replayOf = number
            case ("reference", .true?): hasReference = true
            case ("attributes", .object?): break
            default: return nil
            }
        }
        guard let business, let customer, let id, let at else { return nil }
        let (brand, messageID) = (BusinessID(business), MessageID(id))
        return JournalRecord.Message(
            conversation: ConversationKey(business: brand, customer: CustomerID(customer)), id: messageID,
            key: MessageKey(business: brand, id: messageID), at: at, hasReference: hasReference,
            replayOf: replayOf, retriedReply: nil, outboundKind: nil, act: .writes)
    }

    /// Parses the members of a `finished` record.
    fileprivate mutating func finished() -> JournalRecord? {
        var of: UInt64?
        var kind: Kind?
        var result: JournalEvent.Status?
        var attempts = 0
        while let name = nextName(), name != "crc32" {
            switch (name, value()) {
            case ("of", .number(let number)?): of = number
            case ("attempts", .number(let number)?): attempts = Int(clamping: number)
            case ("kind", .string(let range)?): kind = Kind(rawValue: text(range))
            case ("result", .string(let range)?): result = JournalEvent.Status(rawValue: text(range))
            case ("at", .string?): break
            // Other members, such as a reason, are rare; a record that has them is parsed as general JSON.
            default: return nil
            }
        }
        guard let of, of > 0, let result else { return nil }
        let finished = JournalRecord.Finished(
            kind: kind, result: result, reason: nil, original: nil, isRefusal: false, attempts: attempts)
        return .change(of: of, .finished(finished))
    }
}
