/// Appends a JSON string: quotation marks, backslashes and control characters are escaped, all else verbatim.
func appendQuoted(_ text: String, to result: inout [UInt8]) {
    result.append(UInt8(ascii: "\""))
    let utf8 = text.utf8Span.span
    var copied = 0
    for index in utf8.indices where needsEscape(utf8[index]) {
        append(utf8.extracting(copied..<index), to: &result)
        appendEscape(utf8[index], to: &result)
        copied = index + 1
    }
    append(utf8.extracting(copied...), to: &result)
    result.append(UInt8(ascii: "\""))
}

@inline(__always)
private func needsEscape(_ byte: UInt8) -> Bool {
    byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
}

@inline(__always)
private func append(_ text: Span<UInt8>, to result: inout [UInt8]) {
    // The buffer is copied before the call returns.
    unsafe text.withUnsafeBufferPointer { unsafe result.append(contentsOf: $0) }
}

/// Appends the short form of an escape where RFC 8259 §7 has one, else `\u00XX`.
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
