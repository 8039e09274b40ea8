import BalloonWire

/// One line of the journal: `{"record":12,"batch":11,"type":"…",…,"crc32":"89abcdef"}`.
///
/// `batch` is the number of the first record that was written together with this one, so that the lines say
/// by themselves which of them a lost line belonged to. `crc32` is zlib's, in eight lower-case digits, over
/// the bytes from the opening brace up to the comma before `"crc32"`.
enum JournalLine {
    /// The line's end: `,"crc32":"` + 8 digits + `"}`.
    static let checksumBytes = 20
    private static let checksumStart: [UInt8] = Array(",\"crc32\":\"".utf8)
    private static let recordStart: [UInt8] = Array("{\"record\":".utf8)
    private static let batchStart: [UInt8] = Array(",\"batch\":".utf8)
    private static let typeStart: [UInt8] = Array(",\"type\":\"".utf8)

    /// Appends the line and its line feed; `body` is an object that begins with `"type"`.
    static func write(body: [UInt8], record: UInt64, batch: UInt64, onto lines: inout [UInt8]) {
        let start = lines.count
        lines.append(contentsOf: recordStart)
        appendDecimal(record, onto: &lines)
        lines.append(contentsOf: batchStart)
        appendDecimal(batch, onto: &lines)
        lines.append(UInt8(ascii: ","))
        lines.append(contentsOf: body[1..<(body.count - 1)])
        let checksum = CRC32.checksum(of: lines[start...])
        lines.append(contentsOf: checksumStart)
        appendHex(checksum, onto: &lines)
        lines.append(UInt8(ascii: "\""))
        lines.append(UInt8(ascii: "}"))
        lines.append(UInt8(ascii: "\n"))
    }

    /// Whether the line ends with the checksum of what stands before it.
    static func isIntact(_ line: ArraySlice<UInt8>) -> Bool {
        guard line.count > checksumBytes else { return false }
        let covered = line.dropLast(checksumBytes)
        var expected: [UInt8] = checksumStart
        appendHex(CRC32.checksum(of: covered), onto: &expected)
        expected.append(UInt8(ascii: "\""))
        expected.append(UInt8(ascii: "}"))
        return line[covered.endIndex...].elementsEqual(expected)
    }

    /// Reads record and batch at the start of an intact line; nil when they do not stand there.
    static func header(of line: ArraySlice<UInt8>) -> (record: UInt64, batch: UInt64)? {
        var rest = line
        guard skip(recordStart, in: &rest), let record = decimal(in: &rest), skip(batchStart, in: &rest),
            let batch = decimal(in: &rest), skip(typeStart, in: &rest), batch <= record, batch > 0
        else { return nil }
        return (record, batch)
    }

    private static func skip(_ text: [UInt8], in rest: inout ArraySlice<UInt8>) -> Bool {
        guard rest.starts(with: text) else { return false }
        rest.removeFirst(text.count)
        return true
    }

    private static func decimal(in rest: inout ArraySlice<UInt8>) -> UInt64? {
        var value: UInt64 = 0
        var digits = 0
        while let byte = rest.first, (0x30...0x39).contains(byte), digits < 18 {
            value = value * 10 + UInt64(byte - 0x30)
            rest.removeFirst()
            digits += 1
        }
        return digits > 0 ? value : nil
    }

    private static func appendDecimal(_ number: UInt64, onto text: inout [UInt8]) {
        var divisor: UInt64 = 1
        while number / divisor > 9 { divisor *= 10 }
        while divisor > 0 {
            text.append(0x30 + UInt8(truncatingIfNeeded: number / divisor % 10))
            divisor /= 10
        }
    }

    private static func appendHex(_ number: UInt32, onto text: inout [UInt8]) {
        for shift in stride(from: UInt32(28), through: 0, by: -4) {
            let digit = UInt8(truncatingIfNeeded: number >> shift & 15)
            text.append(digit < 10 ? 0x30 + digit : 0x57 + digit)
        }
    }
}
