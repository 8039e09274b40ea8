extension UInt8 {
    /// Whether the byte is a digit in ASCII.
    package var isDigit: Bool { UInt8(ascii: "0")...UInt8(ascii: "9") ~= self }

    /// Whether the byte is a letter in ASCII; setting the bit 0x20 makes an upper-case letter lower case.
    package var isLetter: Bool { UInt8(ascii: "a")...UInt8(ascii: "z") ~= self | 0x20 }

    /// Whether the byte is a hexadecimal digit in lower case.
    package var isLowercaseHexDigit: Bool { isDigit || UInt8(ascii: "a")...UInt8(ascii: "f") ~= self }

    /// Whether the byte is unreserved in URLs (RFC 3986 §2.3).
    package var isUnreserved: Bool { isDigit || isLetter || "-._~".utf8.contains(self) }
}

/// Returns the value of a hexadecimal digit in either case; nil for any other byte.
@inline(__always)
package func hexadecimalValue(_ byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte &- UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): byte &- UInt8(ascii: "a") &+ 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): byte &- UInt8(ascii: "A") &+ 10
    default: nil
    }
}
