/// A set of ASCII bytes, stored as the bits of two words, so that a lookup is a shift and a mask.
struct CharacterClass: Sendable {
    private var low: UInt64 = 0
    private var high: UInt64 = 0

    init(_ members: String) { for byte in members.utf8 { insert(byte) } }

    private mutating func insert(_ byte: UInt8) {
        if byte < 64 { low |= 1 << UInt64(byte) } else { high |= 1 << UInt64(byte & 63) }
    }

    private init(low: UInt64, high: UInt64) {
        self.low = low
        self.high = high
    }

    @inline(__always)
    func contains(_ byte: UInt8) -> Bool {
        if byte < 64 { return (low >> UInt64(byte)) & 1 == 1 }
        if byte < 128 { return (high >> UInt64(byte & 63)) & 1 == 1 }
        return false
    }

    /// Bytes of a token: methods, field names (RFC 9110 §5.6.2).
    ///
    /// The words are the result of `init(_:)` for ``tokenMembers``; a test compares them. They are constants,
    /// so that a lookup does not pay for lazy initialization.
    static var token: CharacterClass {
        CharacterClass(low: 0x03ff_6cfa_0000_0000, high: 0x57ff_ffff_c7ff_fffe)
    }
    static let tokenMembers =
        "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

    /// Bytes of a path and query (RFC 3986 §3.3, §3.4): unreserved, sub-delims, `:@/?` and `%`.
    static var target: CharacterClass {
        CharacterClass(low: 0xafff_fff2_0000_0000, high: 0x47ff_fffe_87ff_ffff)
    }
    static let targetMembers =
        "!$%&'()*+,-./0123456789:;=?@ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz~"

    /// Bytes of a host's name or IPv4 address: unreserved ones (RFC 3986 §2.3).
    static var host: CharacterClass {
        CharacterClass(low: 0x03ff_6000_0000_0000, high: 0x47ff_fffe_87ff_fffe)
    }
    static let hostMembers = "-.0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz~"

    static func == (left: CharacterClass, right: CharacterClass) -> Bool {
        left.low == right.low && left.high == right.high
    }
}

@inline(__always)
func isDigit(_ byte: UInt8) -> Bool { byte &- 0x30 < 10 }

@inline(__always)
func isHexDigit(_ byte: UInt8) -> Bool { isDigit(byte) || (byte | 0x20) &- 0x61 < 6 }
