/// The state of one pass over a text.
struct JSONScan {
    var position = 0
    var words: [UInt64] = []
    /// The index of the innermost open container, or -1.
    var container = -1
    var isInObject = false
    var depth = 0
    var nodes = 0
}

/// Validates a text by RFC 8259 and indexes it in one pass, without recursion.
func indexJSON(_ bytes: Span<UInt8>, limits: JSONLimits) throws(JSONError) -> JSONTape {
    let maximumBytes = min(limits.maximumBytes, JSONLimits.addressableBytes)
    guard bytes.count <= maximumBytes else { throw .tooLong(maximum: maximumBytes, offset: maximumBytes) }
    // RFC 8259 §8.1 lets a parser ignore a byte order mark; being strict, we would not write one either.
    if bytes.count >= 3, bytes[0] == 0xEF, bytes[1] == 0xBB, bytes[2] == 0xBF {
        throw .byteOrderMark(offset: 0)
    }
    var scan = JSONScan()
    // Messages have a value or name per 10 to 15 bytes.
    scan.words.reserveCapacity(bytes.count / 8 + 8)
    repeat {
        while try beginValue(bytes, limits, &scan) {}
    } while try advanceToNextValue(bytes, &scan)
    skipWhitespace(bytes, &scan.position)
    guard scan.position == bytes.count else { throw .trailingBytes(offset: scan.position) }
    return JSONTape(words: scan.words)
}

/// Scans a scalar or the beginning of a container; true when the scan now stands before its first child.
@inline(__always)
private func beginValue(
    _ bytes: Span<UInt8>, _ limits: JSONLimits, _ scan: inout JSONScan
) throws(JSONError) -> Bool {
    skipWhitespace(bytes, &scan.position)
    let start = scan.position
    guard start < bytes.count else { throw .unexpectedEnd(offset: start) }
    scan.nodes &+= 1
    guard scan.nodes <= limits.maximumNodes else {
        throw .tooManyNodes(maximum: limits.maximumNodes, offset: start)
    }
    let tag: JSONTag
    switch bytes[start] {
    case UInt8(ascii: "\""):
        tag = try scanString(bytes, &scan.position)
    case UInt8(ascii: "{"), UInt8(ascii: "["):
        return try open(bytes, limits, &scan)
    case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
        tag = try scanNumber(bytes, &scan.position)
    case UInt8(ascii: "t"):
        tag = try scanLiteral("true", .true, bytes, &scan.position)
    case UInt8(ascii: "f"):
        tag = try scanLiteral("false", .false, bytes, &scan.position)
    case UInt8(ascii: "n"):
        tag = try scanLiteral("null", .null, bytes, &scan.position)
    default:
        throw .unexpectedByte(offset: start)
    }
    scan.words.append(JSONTape.word(tag, start, scan.position))
    return false
}

@inline(__always)
private func open(
    _ bytes: Span<UInt8>, _ limits: JSONLimits, _ scan: inout JSONScan
) throws(JSONError) -> Bool {
    let start = scan.position
    guard scan.depth < limits.maximumDepth else {
        throw .tooDeep(maximum: limits.maximumDepth, offset: start)
    }
    scan.depth &+= 1
    scan.isInObject = bytes[start] == UInt8(ascii: "{")
    scan.position = start &+ 1
    let index = scan.words.count
    scan.words.append(JSONTape.word(scan.isInObject ? .object : .array, start, start))
    // -1 becomes UInt32.max and comes back as -1.
    scan.words.append(UInt64(UInt32(truncatingIfNeeded: scan.container)))
    scan.container = index
    skipWhitespace(bytes, &scan.position)
    guard scan.position < bytes.count else { throw .unexpectedEnd(offset: scan.position) }
    if bytes[scan.position] == (scan.isInObject ? UInt8(ascii: "}") : UInt8(ascii: "]")) {
        close(&scan)
        return false
    }
    scan.words[index &+ 1] |= 1 << 32
    if scan.isInObject { try scanName(bytes, &scan) }
    return true
}

/// Closes the innermost container, whose last byte is at the scan's position.
@inline(__always)
private func close(_ scan: inout JSONScan) {
    let index = scan.container
    scan.position &+= 1
    let start = Int(truncatingIfNeeded: scan.words[index] >> 32)
    scan.words[index] |= UInt64(truncatingIfNeeded: scan.position &- start) << 4
    let link = scan.words[index &+ 1]
    scan.words[index &+ 1] = link & ~0xFFFF_FFFF | UInt64(UInt32(truncatingIfNeeded: scan.words.count))
    scan.container = Int(Int32(truncatingIfNeeded: link))
    scan.depth &-= 1
    if scan.container >= 0 {
        scan.isInObject = scan.words[scan.container] & 0xF == JSONTag.object.rawValue
    }
}

/// Moves over what follows a value; true when the scan now stands before another value.
@inline(__always)
private func advanceToNextValue(_ bytes: Span<UInt8>, _ scan: inout JSONScan) throws(JSONError) -> Bool {
    while scan.container >= 0 {
        skipWhitespace(bytes, &scan.position)
        guard scan.position < bytes.count else { throw .unexpectedEnd(offset: scan.position) }
        let byte = bytes[scan.position]
        if byte == UInt8(ascii: ",") {
            scan.position &+= 1
            scan.words[scan.container &+ 1] &+= 1 << 32
            if scan.isInObject { try scanName(bytes, &scan) }
            return true
        }
        guard byte == (scan.isInObject ? UInt8(ascii: "}") : UInt8(ascii: "]")) else {
            throw .unexpectedByte(offset: scan.position)
        }
        close(&scan)
    }
    return false
}

/// Scans a member's name and the colon behind it.
@inline(__always)
private func scanName(_ bytes: Span<UInt8>, _ scan: inout JSONScan) throws(JSONError) {
    skipWhitespace(bytes, &scan.position)
    let start = scan.position
    guard start < bytes.count else { throw .unexpectedEnd(offset: start) }
    guard bytes[start] == UInt8(ascii: "\"") else { throw .unexpectedByte(offset: start) }
    let tag = try scanString(bytes, &scan.position)
    scan.words.append(JSONTape.word(tag, start, scan.position))
    skipWhitespace(bytes, &scan.position)
    guard scan.position < bytes.count else { throw .unexpectedEnd(offset: scan.position) }
    guard bytes[scan.position] == UInt8(ascii: ":") else { throw .unexpectedByte(offset: scan.position) }
    scan.position &+= 1
}
