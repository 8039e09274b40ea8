/// The state of the single pass that validates and indexes a text.
struct JSONScan {
    var position = 0
    /// The number of used tape words.
    var used = 0
    /// The index of the innermost open container, or -1.
    var container = -1
    var isInObject = false
    var depth = 0
    var nodes = 0
}

/// Validates a text by RFC 8259 and indexes it in one pass; returns the number of used words.
///
/// The pass does not recurse. It overwrites `words`, and adds words only when there are too few.
func indexJSON(
    _ bytes: Span<UInt8>, limits: JSONLimits, into words: inout [UInt64]
) throws(JSONError) -> Int {
    let maximumBytes = min(limits.maximumBytes, JSONLimits.addressableBytes)
    guard bytes.count <= maximumBytes else { throw .tooLong(maximum: maximumBytes, offset: maximumBytes) }
    // RFC 8259 §8.1 allows a parser to ignore a byte order mark; this one refuses it.
    if bytes.count >= 3, bytes[0] == 0xEF, bytes[1] == 0xBB, bytes[2] == 0xBF {
        throw .byteOrderMark(offset: 0)
    }
    var scan = JSONScan()
    // A value has at most three words: its name and two for a container. One value more than allowed is scanned.
    let maximumWords = 3 * (min(limits.maximumNodes, bytes.count) + 1)
    // Start with one word per 8 bytes: messages usually have one value or name per 10 to 15 bytes.
    let startWords = min(bytes.count / 8 + 16, maximumWords)
    if words.count < startWords { words = [UInt64](repeating: 0, count: startWords) }
    while try !scanValues(bytes, limits, &scan, words: &words) {
        grow(&words, for: scan, of: bytes.count, maximum: maximumWords)
    }
    skipWhitespace(bytes, &scan.position)
    guard scan.position == bytes.count else { throw .trailingBytes(offset: scan.position) }
    return scan.used
}

/// Adds words, assuming that the rest of the text has as many values per byte as the scanned part.
///
/// Doubling could need up to four times the memory of the index while the words of a large text are copied.
private func grow(
    _ words: inout [UInt64], for scan: JSONScan, of byteCount: Int, maximum: Int
) {
    let expected = scan.used * byteCount / max(1, scan.position)
    let count = min(max(expected + expected / 16, words.count + words.count / 4) + 16, maximum)
    words.reserveCapacity(count)
    words.append(contentsOf: repeatElement(0, count: count - words.count))
}

/// Scans values until the outermost value is complete; returns false when `words` is too short to continue.
private func scanValues(
    _ bytes: Span<UInt8>, _ limits: JSONLimits, _ scan: inout JSONScan, words: inout [UInt64]
) throws(JSONError) -> Bool {
    var tape = words.mutableSpan
    repeat {
        repeat {
            // One step writes at most three words: one for a name and two for a container.
            guard scan.used &+ 3 <= tape.count else { return false }
        } while try beginValue(bytes, limits, &scan, &tape)
    } while try advanceToNextValue(bytes, &scan, &tape)
    return true
}

/// Scans a member's name if one is expected, then a scalar value or the opening bracket of a container.
///
/// Returns true when a container has opened and its first child must be scanned next.
@inline(__always)
private func beginValue(
    _ bytes: Span<UInt8>, _ limits: JSONLimits, _ scan: inout JSONScan, _ tape: inout MutableSpan<UInt64>
) throws(JSONError) -> Bool {
    if scan.isInObject { try scanName(bytes, &scan, &tape) }
    skipWhitespace(bytes, &scan.position)
    let start = scan.position
    guard start < bytes.count else { throw .unexpectedEnd(offset: start) }
    scan.nodes &+= 1
    guard scan.nodes <= limits.maximumNodes else {
        throw .tooManyNodes(maximum: limits.maximumNodes, offset: start)
    }
    let token: JSONToken
    switch bytes[start] {
    case UInt8(ascii: "\""):
        token = try scanString(bytes, start)
    case UInt8(ascii: "{"), UInt8(ascii: "["):
        return try open(bytes, limits, &scan, &tape)
    case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
        token = try scanNumber(bytes, start)
    case UInt8(ascii: "t"):
        token = try scanLiteral("true", .true, bytes, start)
    case UInt8(ascii: "f"):
        token = try scanLiteral("false", .false, bytes, start)
    case UInt8(ascii: "n"):
        token = try scanLiteral("null", .null, bytes, start)
    default:
        throw .unexpectedByte(offset: start)
    }
    tape[scan.used] = JSONTape.word(token.tag, start, token.end)
    scan.used &+= 1
    scan.position = token.end
    return false
}

@inline(__always)
private func open(
    _ bytes: Span<UInt8>, _ limits: JSONLimits, _ scan: inout JSONScan, _ tape: inout MutableSpan<UInt64>
) throws(JSONError) -> Bool {
    let start = scan.position
    guard scan.depth < limits.maximumDepth else {
        throw .tooDeep(maximum: limits.maximumDepth, offset: start)
    }
    scan.depth &+= 1
    scan.isInObject = bytes[start] == UInt8(ascii: "{")
    scan.position = start &+ 1
    let index = scan.used
    tape[index] = JSONTape.word(scan.isInObject ? .object : .array, start, start)
    // -1 is stored as UInt32.max and restored as -1.
    tape[index &+ 1] = UInt64(UInt32(truncatingIfNeeded: scan.container))
    scan.used &+= 2
    scan.container = index
    skipWhitespace(bytes, &scan.position)
    guard scan.position < bytes.count else { throw .unexpectedEnd(offset: scan.position) }
    if bytes[scan.position] == (scan.isInObject ? UInt8(ascii: "}") : UInt8(ascii: "]")) {
        close(&scan, &tape)
        return false
    }
    tape[index &+ 1] |= 1 << 32
    return true
}

/// Closes the innermost container; the scan's position is at its closing bracket.
@inline(__always)
private func close(_ scan: inout JSONScan, _ tape: inout MutableSpan<UInt64>) {
    let index = scan.container
    scan.position &+= 1
    let start = Int(truncatingIfNeeded: tape[index] >> 32)
    tape[index] |= UInt64(truncatingIfNeeded: scan.position &- start) << 4
    let link = tape[index &+ 1]
    tape[index &+ 1] = link & ~0xFFFF_FFFF | UInt64(UInt32(truncatingIfNeeded: scan.used))
    scan.container = Int(Int32(truncatingIfNeeded: link))
    scan.depth &-= 1
    if scan.container >= 0 {
        scan.isInObject = tape[scan.container] & 0xF == JSONTag.object.rawValue
    }
}

/// Advances over the comma or the closing brackets after a value; returns true when another value follows.
@inline(__always)
private func advanceToNextValue(
    _ bytes: Span<UInt8>, _ scan: inout JSONScan, _ tape: inout MutableSpan<UInt64>
) throws(JSONError) -> Bool {
    while scan.container >= 0 {
        skipWhitespace(bytes, &scan.position)
        guard scan.position < bytes.count else { throw .unexpectedEnd(offset: scan.position) }
        let byte = bytes[scan.position]
        if byte == UInt8(ascii: ",") {
            scan.position &+= 1
            tape[scan.container &+ 1] &+= 1 << 32
            return true
        }
        guard byte == (scan.isInObject ? UInt8(ascii: "}") : UInt8(ascii: "]")) else {
            throw .unexpectedByte(offset: scan.position)
        }
        close(&scan, &tape)
    }
    return false
}

/// Scans a member's name and its colon.
@inline(__always)
private func scanName(
    _ bytes: Span<UInt8>, _ scan: inout JSONScan, _ tape: inout MutableSpan<UInt64>
) throws(JSONError) {
    skipWhitespace(bytes, &scan.position)
    let start = scan.position
    guard start < bytes.count else { throw .unexpectedEnd(offset: start) }
    guard bytes[start] == UInt8(ascii: "\"") else { throw .unexpectedByte(offset: start) }
    let token = try scanString(bytes, start)
    tape[scan.used] = JSONTape.word(token.tag, start, token.end)
    scan.used &+= 1
    scan.position = token.end
    skipWhitespace(bytes, &scan.position)
    guard scan.position < bytes.count else { throw .unexpectedEnd(offset: scan.position) }
    guard bytes[scan.position] == UInt8(ascii: ":") else { throw .unexpectedByte(offset: scan.position) }
    scan.position &+= 1
}
