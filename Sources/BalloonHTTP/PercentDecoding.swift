/// Decodes each `%XX` (RFC 3986 §2.1), and with `plusIsSpace` each `+` to a space.
///
/// Returns nil when a `%` is not followed by two hex digits, or the result is not UTF-8.
func percentDecoded(_ bytes: ArraySlice<UInt8>, plusIsSpace: Bool = false) -> String? {
    var decoded: [UInt8] = []
    decoded.reserveCapacity(bytes.count)
    var index = bytes.startIndex
    while index < bytes.endIndex {
        let byte = bytes[index]
        if byte == UInt8(ascii: "%") {
            guard index + 2 < bytes.endIndex, let high = hexValue(bytes[index + 1]),
                let low = hexValue(bytes[index + 2])
            else { return nil }
            decoded.append(high << 4 | low)
            index += 3
        } else {
            decoded.append(plusIsSpace && byte == UInt8(ascii: "+") ? UInt8(ascii: " ") : byte)
            index += 1
        }
    }
    return String(validating: decoded, as: UTF8.self)
}
