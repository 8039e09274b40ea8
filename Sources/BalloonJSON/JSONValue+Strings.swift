extension JSONValue {
    /// The text of a string with its escapes resolved; nil for every other kind.
    ///
    /// An escaped surrogate without its partner becomes U+FFFD, because a Swift string cannot contain a
    /// surrogate.
    public var string: String? {
        switch tag {
        case .plainString, .escapedString: storage.string(at: index)
        default: nil
        }
    }

    /// The bytes between a string's quotation marks; nil when they contain escapes, and for every other kind.
    public var stringBytes: ArraySlice<UInt8>? {
        tag == .plainString ? storage.bytes[storage.content(at: index)] : nil
    }

    /// The UTF-8 bytes of a string's text with its escapes resolved; nil for every other kind.
    ///
    /// Compare and hash text from outside as bytes: a `String` is normalized first, which takes time
    /// proportional to the square of a run of combining marks, 25 seconds for one of 400 KB.
    package var textBytes: ArraySlice<UInt8>? { kind == .string ? storage.textBytes(at: index) : nil }

    /// Whether this is a string with this text; compares byte by byte, without creating a `String`.
    public func equals(_ text: String) -> Bool {
        kind == .string && storage.string(at: index, equals: text.utf8Span.span)
    }
}

extension JSONStorage {
    /// Returns the extent of the string at `index` without its quotation marks.
    func content(at index: Int) -> Range<Int> {
        let extent = tape.extent(at: index)
        return extent.lowerBound + 1..<extent.upperBound - 1
    }

    /// Returns the text of the string or member name at `index`.
    func string(at index: Int) -> String {
        let content = bytes[content(at: index)]
        return tape.tag(at: index) == .plainString
            ? String(decoding: content, as: UTF8.self)
            : String(decoding: unescaped(content), as: UTF8.self)
    }

    /// Returns the UTF-8 bytes of the string or member name at `index` with its escapes resolved; a text without
    /// escapes is not copied.
    func textBytes(at index: Int) -> ArraySlice<UInt8> {
        let content = bytes[content(at: index)]
        return tape.tag(at: index) == .plainString ? content : unescaped(content)[...]
    }

    /// Returns whether the string at `index` has exactly these UTF-8 bytes.
    ///
    /// Unicode normalization is ignored: canonically equivalent texts with different bytes are different.
    @inline(__always)
    func string(at index: Int, equals wanted: Span<UInt8>) -> Bool {
        let content = content(at: index)
        // An escape is longer than the character it stands for, so content shorter than `wanted` never
        // matches.
        if content.count <= wanted.count {
            return content.count == wanted.count && tape.tag(at: index) == .plainString
                && isIdenticalText(bytes, content.lowerBound, wanted)
        }
        // An escape of at most six bytes stands for at least one byte, so much longer content never matches.
        return tape.tag(at: index) == .escapedString && content.count <= 6 * wanted.count
            && escapedString(content, equals: wanted)
    }

    @inline(never)
    private func escapedString(_ content: Range<Int>, equals wanted: Span<UInt8>) -> Bool {
        let text = unescaped(bytes[content])
        return text.count == wanted.count && isIdenticalText(text, 0, wanted)
    }
}

@inline(__always)
private func isIdenticalText(_ bytes: [UInt8], _ start: Int, _ wanted: Span<UInt8>) -> Bool {
    for index in wanted.indices where bytes[start &+ index] != wanted[index] { return false }
    return true
}

/// Returns the first characters of a UTF-8 text; a text that is longer ends with `…`.
package func shortText(_ utf8: ArraySlice<UInt8>, maximumScalars: Int) -> String {
    var left = maximumScalars
    // The first byte of a character is no continuation byte.
    let end = utf8.firstIndex { byte in
        if byte & 0xC0 != 0x80 { left -= 1 }
        return left < 0
    }
    guard let end else { return String(decoding: utf8, as: UTF8.self) }
    return String(decoding: utf8[..<end], as: UTF8.self) + "…"
}

/// Resolves the escapes of a valid string's content.
private func unescaped(_ content: ArraySlice<UInt8>) -> [UInt8] {
    var result: [UInt8] = []
    result.reserveCapacity(content.count)
    var rest = content
    while let backslash = rest.firstIndex(of: UInt8(ascii: "\\")) {
        result += rest[..<backslash]
        let letter = rest[backslash + 1]
        rest = rest[(backslash + 2)...]
        switch letter {
        case UInt8(ascii: "b"): result.append(0x08)
        case UInt8(ascii: "f"): result.append(0x0C)
        case UInt8(ascii: "n"): result.append(0x0A)
        case UInt8(ascii: "r"): result.append(0x0D)
        case UInt8(ascii: "t"): result.append(0x09)
        case UInt8(ascii: "u"): appendUnicodeEscape(&rest, to: &result)
        default: result.append(letter)
        }
    }
    result += rest
    return result
}

/// Decodes the four hexadecimal digits at the start of `rest`, and a following escape that completes a
/// surrogate pair.
private func appendUnicodeEscape(_ rest: inout ArraySlice<UInt8>, to result: inout [UInt8]) {
    let unit = codeUnit(rest)
    rest.removeFirst(4)
    var scalar = Unicode.Scalar(unit)
    if scalar == nil, unit < 0xDC00, rest.starts(with: [UInt8(ascii: "\\"), UInt8(ascii: "u")]) {
        let low = codeUnit(rest.dropFirst(2))
        // RFC 8259 §7: characters outside the Basic Multilingual Plane are surrogate pairs.
        if 0xDC00...0xDFFF ~= low {
            scalar = Unicode.Scalar((unit & 0x3FF) << 10 + low & 0x3FF + 0x10000)
            rest.removeFirst(6)
        }
    }
    result += UTF8.encode(scalar ?? "\u{FFFD}") ?? UTF8.encodedReplacementCharacter
}

/// Returns the number written as four hexadecimal digits.
func codeUnit(_ digits: ArraySlice<UInt8>) -> UInt32 {
    digits.prefix(4).reduce(0) { $0 << 4 | UInt32(hexadecimalValue($1) ?? 0) }
}
