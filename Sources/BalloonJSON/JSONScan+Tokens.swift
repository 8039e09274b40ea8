/// Advances over space, tab, line feed and carriage return (RFC 8259 §2).
@inline(__always)
func skipWhitespace(_ bytes: Span<UInt8>, _ position: inout Int) {
    while position < bytes.count {
        let byte = bytes[position]
        guard byte <= 0x20, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 else { return }
        position &+= 1
    }
}

/// A recognised token, and the position after it.
struct JSONToken {
    let tag: JSONTag
    let end: Int
}

/// Scans the rest of a literal whose first letter is at `start`.
func scanLiteral(
    _ literal: StaticString, _ tag: JSONTag, _ bytes: Span<UInt8>, _ start: Int
) throws(JSONError) -> JSONToken {
    for index in 1..<literal.utf8CodeUnitCount {
        let at = start &+ index
        guard at < bytes.count else { throw .unexpectedEnd(offset: at) }
        // Sound: the literal is static and the index is below its length.
        guard unsafe literal.utf8Start[index] == bytes[at] else { throw .unexpectedByte(offset: at) }
    }
    return JSONToken(tag: tag, end: start &+ literal.utf8CodeUnitCount)
}

/// Scans a number that begins with a digit or a minus sign at `start` (RFC 8259 §6).
func scanNumber(_ bytes: Span<UInt8>, _ start: Int) throws(JSONError) -> JSONToken {
    var at = start
    if bytes[at] == UInt8(ascii: "-") { at &+= 1 }
    let first = at
    try skipDigits(bytes, &at)
    if bytes[first] == UInt8(ascii: "0"), at > first &+ 1 { throw .invalidNumber(offset: first) }
    var tag = JSONTag.integer
    if at < bytes.count, bytes[at] == UInt8(ascii: ".") {
        tag = .decimal
        at &+= 1
        try skipDigits(bytes, &at)
    }
    // Setting the sixth bit maps both letters to lower case.
    if at < bytes.count, bytes[at] | 0x20 == UInt8(ascii: "e") {
        tag = .decimal
        at &+= 1
        if at < bytes.count, bytes[at] == UInt8(ascii: "+") || bytes[at] == UInt8(ascii: "-") { at &+= 1 }
        try skipDigits(bytes, &at)
    }
    return JSONToken(tag: tag, end: at)
}

/// Advances over one or more digits.
@inline(__always)
private func skipDigits(_ bytes: Span<UInt8>, _ at: inout Int) throws(JSONError) {
    let start = at
    while at < bytes.count, bytes[at] &- UInt8(ascii: "0") < 10 { at &+= 1 }
    guard at > start else {
        throw at == bytes.count ? .unexpectedEnd(offset: at) : .invalidNumber(offset: at)
    }
}
