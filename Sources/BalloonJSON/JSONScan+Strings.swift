/// Scans a string that begins with a quotation mark at `start` (RFC 8259 §7).
///
/// An escaped surrogate without its other half is accepted, as the grammar allows (RFC 8259 §8.2).
func scanString(_ bytes: Span<UInt8>, _ start: Int) throws(JSONError) -> JSONToken {
    var at = start &+ 1
    var tag = JSONTag.plainString
    while true {
        skipPlainText(bytes, &at)
        guard at < bytes.count else { throw .unexpectedEnd(offset: at) }
        let byte = bytes[at]
        if byte == UInt8(ascii: "\"") {
            return JSONToken(tag: tag, end: at &+ 1)
        }
        if byte >= 0x80 {
            try skipMultibyteText(bytes, &at)
        } else if byte == UInt8(ascii: "\\") {
            tag = .escapedString
            try skipEscape(bytes, &at)
        } else {
            throw .controlCharacter(offset: at)
        }
    }
}

/// Advances to the next quotation mark, backslash, control character or byte above 0x7F, eight bytes at a
/// time.
@inline(__always)
func skipPlainText(_ bytes: Span<UInt8>, _ at: inout Int) {
    while at &+ 8 <= bytes.count {
        // Sound: eight bytes remain, and every bit pattern is a UInt64.
        let loaded = unsafe bytes.bytes.unsafeLoadUnaligned(fromUncheckedByteOffset: at, as: UInt64.self)
        let found = markSpecialBytes(UInt64(littleEndian: loaded))
        if found != 0 {
            at &+= found.trailingZeroBitCount &>> 3
            return
        }
        at &+= 8
    }
    while at < bytes.count, markSpecialBytes(0x2020_2020_2020_2000 | UInt64(bytes[at])) == 0 { at &+= 1 }
}

/// Sets the top bit of each byte that ends plain text: a control character, `"`, `\` or a byte above 0x7F.
///
/// Only the lowest set top bit is exact. A subtraction borrows from the next higher byte only when a byte is
/// too small, so only bits above the lowest match can be wrong.
@inline(__always)
private func markSpecialBytes(_ word: UInt64) -> UInt64 {
    let ones: UInt64 = 0x0101_0101_0101_0101
    let control = word &- ones &* 0x20
    let quote = (word ^ ones &* 0x22) &- ones
    let backslash = (word ^ ones &* 0x5C) &- ones
    return (control | quote | backslash | word) & (ones &* 0x80)
}

/// Advances over an escape sequence.
@inline(__always)
private func skipEscape(_ bytes: Span<UInt8>, _ at: inout Int) throws(JSONError) {
    let start = at
    guard start &+ 1 < bytes.count else { throw .unexpectedEnd(offset: bytes.count) }
    switch bytes[start &+ 1] {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
        UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
        at = start &+ 2
    case UInt8(ascii: "u"):
        at = start &+ 2
        for _ in 0..<4 {
            guard at < bytes.count else { throw .unexpectedEnd(offset: at) }
            guard hexadecimalValue(bytes[at]) != nil else { throw .invalidEscape(offset: start) }
            at &+= 1
        }
    default:
        throw .invalidEscape(offset: start)
    }
}

/// Advances over a run of well-formed sequences of two to four bytes (RFC 3629 §4).
@inline(__always)
private func skipMultibyteText(_ bytes: Span<UInt8>, _ at: inout Int) throws(JSONError) {
    repeat {
        let length = multibyteLength(bytes, at)
        guard length > 0 else { throw .invalidUTF8(offset: at) }
        at &+= length
    } while at < bytes.count && bytes[at] >= 0x80
}

/// Returns the length of the sequence at `at`; 0 when it is cut off, overlong, a surrogate or above U+10FFFF.
@inline(__always)
private func multibyteLength(_ bytes: Span<UInt8>, _ at: Int) -> Int {
    let lead = bytes[at]
    if lead < 0xE0 {
        guard at &+ 1 < bytes.count, lead >= 0xC2, isContinuation(bytes[at &+ 1]) else { return 0 }
        return 2
    }
    if lead < 0xF0 {
        guard at &+ 2 < bytes.count, isContinuation(bytes[at &+ 1]), isContinuation(bytes[at &+ 2]) else {
            return 0
        }
        // The 10 highest bits decide: values below 0x20 are overlong, those from 0x360 to 0x37F are
        // surrogates.
        let high = UInt16(lead & 0x0F) << 6 | UInt16(bytes[at &+ 1] & 0x3F)
        return high < 0x20 || high & 0x3E0 == 0x360 ? 0 : 3
    }
    guard at &+ 3 < bytes.count, lead < 0xF5, isContinuation(bytes[at &+ 1]),
        isContinuation(bytes[at &+ 2]), isContinuation(bytes[at &+ 3])
    else { return 0 }
    // Values below 0x10 are overlong, those from 0x110 on exceed U+10FFFF.
    let high = UInt16(lead & 0x07) << 6 | UInt16(bytes[at &+ 1] & 0x3F)
    return 0x10..<0x110 ~= high ? 4 : 0
}

@inline(__always)
private func isContinuation(_ byte: UInt8) -> Bool { byte & 0xC0 == 0x80 }
