/// Appends a JSON string: escapes quotation marks, backslashes and control characters only.
func appendQuoted(_ text: String, to result: inout [UInt8]) {
    result.append(UInt8(ascii: "\""))
    let utf8 = text.utf8Span.span
    var copied = 0
    var at = 0
    while true {
        skipPlainText(utf8, &at)
        guard at < utf8.count else { break }
        if utf8[at] < 0x80 {
            append(utf8.extracting(copied..<at), to: &result)
            appendEscape(utf8[at], to: &result)
            copied = at + 1
        }
        at += 1
    }
    append(utf8.extracting(copied...), to: &result)
    result.append(UInt8(ascii: "\""))
}

@inline(__always)
private func append(_ text: Span<UInt8>, to result: inout [UInt8]) {
    // Sound: the buffer is copied before the call returns.
    unsafe text.withUnsafeBufferPointer { unsafe result.append(contentsOf: $0) }
}

/// Appends the two-character escape if RFC 8259 §7 defines one, otherwise `\u00XX`.
private func appendEscape(_ byte: UInt8, to result: inout [UInt8]) {
    result.append(UInt8(ascii: "\\"))
    switch byte {
    case 0x08: result.append(UInt8(ascii: "b"))
    case 0x09: result.append(UInt8(ascii: "t"))
    case 0x0A: result.append(UInt8(ascii: "n"))
    case 0x0C: result.append(UInt8(ascii: "f"))
    case 0x0D: result.append(UInt8(ascii: "r"))
    case UInt8(ascii: "\""), UInt8(ascii: "\\"): result.append(byte)
    default:
        result += "u00".utf8
        result.append(hexadecimalDigit(byte >> 4))
        result.append(hexadecimalDigit(byte & 0xF))
    }
}

private func hexadecimalDigit(_ value: UInt8) -> UInt8 {
    value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
}
