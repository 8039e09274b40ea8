/// A set of ASCII bytes, stored as 128 bits in two words; a lookup is one shift and one mask.
struct CharacterClass: Sendable {
    let low: UInt64
    let high: UInt64

    @inline(__always)
    func contains(_ byte: UInt8) -> Bool {
        if byte < 64 { return (low >> UInt64(byte)) & 1 == 1 }
        if byte < 128 { return (high >> UInt64(byte & 63)) & 1 == 1 }
        return false
    }

    /// The bytes that a token may contain: methods and field names are tokens (RFC 9110 §5.6.2).
    ///
    /// The two words are written as constants, because a lookup would otherwise first check a lazily initialized
    /// global; a test compares them with the members.
    static var token: CharacterClass {
        CharacterClass(low: 0x03ff_6cfa_0000_0000, high: 0x57ff_ffff_c7ff_fffe)
    }

    /// Bytes of a path and query (RFC 3986 §3.3, §3.4): unreserved, sub-delims, `:@/?` and `%`.
    static var target: CharacterClass {
        CharacterClass(low: 0xafff_fff2_0000_0000, high: 0x47ff_fffe_87ff_ffff)
    }

    /// Bytes of a host's name or IPv4 address: unreserved ones (RFC 3986 §2.3).
    static var host: CharacterClass {
        CharacterClass(low: 0x03ff_6000_0000_0000, high: 0x47ff_fffe_87ff_fffe)
    }
}

@inline(__always)
func isDigit(_ byte: UInt8) -> Bool { byte &- 0x30 < 10 }

@inline(__always)
func isHexDigit(_ byte: UInt8) -> Bool { hexValue(byte) != nil }

/// Returns the value of a hexadecimal digit in either case; nil for any other byte.
@inline(__always)
func hexValue(_ byte: UInt8) -> UInt8? {
    if isDigit(byte) { return byte - 0x30 }
    let letter = (byte | 0x20) &- 0x61
    return letter < 6 ? letter + 10 : nil
}
