import BalloonPOSIX
import BalloonWire

/// One line of the journal: `{"record":12,"batch":11,"type":"…",…,"crc32":"89abcdef"}`.
///
/// `batch` is the number of the first record of the same batch; it shows to which batch a lost line belonged.
/// `crc32` is the CRC-32 of zlib, in eight lower-case hexadecimal digits, of the bytes before `,"crc32"`.
enum JournalLine {
    /// The parsed members at the start of a line.
    struct Header {
        let record: UInt64
        let batch: UInt64
        /// The range of the record type's name in the line.
        let type: Range<Int>
    }

    /// The number of bytes of a line's end: `,"crc32":"`, eight digits and `"}`.
    static let checksumBytes = 20
    private static let checksumStart: [UInt8] = Array(",\"crc32\":\"".utf8)
    private static let recordStart: [UInt8] = Array("{\"record\":".utf8)
    private static let batchStart: [UInt8] = Array(",\"batch\":".utf8)
    private static let typeStart: [UInt8] = Array(",\"type\":\"".utf8)
    private static let messageStart: [UInt8] = Array(",\"message\":".utf8)
    private static let repliesStart: [UInt8] = Array(",\"replies\":".utf8)

    /// Appends the line and its line feed; `body` is an object that begins with `"type"`.
    static func write(body: [UInt8], record: UInt64, batch: UInt64, onto lines: inout [UInt8]) {
        let start = lines.count
        lines.append(contentsOf: recordStart)
        lines.append(contentsOf: String(record).utf8)
        lines.append(contentsOf: batchStart)
        lines.append(contentsOf: String(batch).utf8)
        lines.append(UInt8(ascii: ","))
        lines.append(contentsOf: body[1..<(body.count - 1)])
        let checksum = CRC32.checksum(of: lines[start...])
        lines.append(contentsOf: checksumStart)
        appendHex(checksum, onto: &lines)
        lines.append(UInt8(ascii: "\""))
        lines.append(UInt8(ascii: "}"))
        lines.append(UInt8(ascii: "\n"))
    }

    /// Whether the line ends with a correct checksum.
    static func isIntact(_ line: ArraySlice<UInt8>) -> Bool {
        guard line.count > checksumBytes else { return false }
        let end = line.endIndex - checksumBytes
        let digits = end + checksumStart.count
        guard has(checksumStart, in: line, at: end), line[digits + 8] == UInt8(ascii: "\""),
            line[digits + 9] == UInt8(ascii: "}"), let written = hexadecimal(line[digits..<digits + 8])
        else { return false }
        return CRC32.checksum(of: line[..<end]) == written
    }

    /// The checksum at the end of a line; nil when the line is too short or has no digits there.
    static func checksum(of line: ArraySlice<UInt8>) -> UInt32? {
        guard line.count > checksumBytes else { return nil }
        let digits = line.endIndex - 10
        return hexadecimal(line[digits..<digits + 8])
    }

    /// Parses the start of an intact line; nil when the line does not start with `record`, `batch` and
    /// `type`.
    static func header(of line: ArraySlice<UInt8>) -> Header? {
        var position = line.startIndex
        guard skip(recordStart, in: line, &position), let record = decimal(in: line, &position),
            skip(batchStart, in: line, &position), let batch = decimal(in: line, &position),
            skip(typeStart, in: line, &position), batch <= record, batch > 0
        else { return nil }
        let start = position
        while position < line.endIndex, line[position] != UInt8(ascii: "\"") { position += 1 }
        return Header(record: record, batch: batch, type: start..<position)
    }

    /// Returns an intact line without its member `message` or `replies`, as a complete JSON object.
    ///
    /// All other members that the program needs come before that member. Quotation marks inside strings are
    /// escaped, so the first occurrence of the member's name is the member itself.
    static func withoutMessages(_ line: ArraySlice<UInt8>, _ header: Header) -> [UInt8] {
        let type = line[header.type]
        let marker: [UInt8]
        switch type.first {
        case UInt8(ascii: "m"), UInt8(ascii: "r"), UInt8(ascii: "c"): marker = messageStart
        case UInt8(ascii: "o"): marker = repliesStart
        default: return Array(line)
        }
        guard let end = line.firstPosition(of: marker) else { return Array(line) }
        var head = Array(line[..<end])
        head.append(UInt8(ascii: "}"))
        return head
    }

    private static func has(_ text: [UInt8], in line: ArraySlice<UInt8>, at position: Int) -> Bool {
        guard position + text.count <= line.endIndex else { return false }
        for index in text.indices where line[position + index] != text[index] { return false }
        return true
    }

    private static func skip(_ text: [UInt8], in line: ArraySlice<UInt8>, _ position: inout Int) -> Bool {
        guard has(text, in: line, at: position) else { return false }
        position += text.count
        return true
    }

    private static func decimal(in line: ArraySlice<UInt8>, _ position: inout Int) -> UInt64? {
        var value: UInt64 = 0
        let start = position
        while position < line.endIndex, (0x30...0x39).contains(line[position]), position - start < 18 {
            value = value * 10 + UInt64(line[position] - 0x30)
            position += 1
        }
        return position > start ? value : nil
    }

    private static func hexadecimal(_ digits: ArraySlice<UInt8>) -> UInt32? {
        var value: UInt32 = 0
        for byte in digits {
            switch byte {
            case 0x30...0x39: value = value << 4 | UInt32(byte - 0x30)
            case 0x61...0x66: value = value << 4 | UInt32(byte - 0x57)
            default: return nil
            }
        }
        return value
    }

    private static func appendHex(_ number: UInt32, onto text: inout [UInt8]) {
        for shift in stride(from: UInt32(28), through: 0, by: -4) {
            let digit = UInt8(truncatingIfNeeded: number >> shift & 15)
            text.append(digit < 10 ? 0x30 + digit : 0x57 + digit)
        }
    }
}
