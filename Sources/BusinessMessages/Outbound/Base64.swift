/// Base64 in its plain alphabet, with padding (RFC 4648 §4).
enum Base64 {
    private static let alphabet = Array(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    /// Writes bytes as Base64 without line breaks.
    static func encode(_ bytes: [UInt8]) -> [UInt8] {
        var text: [UInt8] = []
        text.reserveCapacity((bytes.count + 2) / 3 * 4)
        var position = 0
        while position < bytes.count {
            let taken = min(3, bytes.count - position)
            var group = UInt32(bytes[position]) << 16
            if taken > 1 { group |= UInt32(bytes[position + 1]) << 8 }
            if taken > 2 { group |= UInt32(bytes[position + 2]) }
            for digit in 0..<4 {
                text.append(
                    digit <= taken
                        ? alphabet[Int(group >> UInt32(18 - 6 * digit) & 0x3F)] : UInt8(ascii: "="))
            }
            position += 3
        }
        return text
    }

    /// Reads Base64; `nil` when a character is not of the alphabet, or the padding is wrong.
    static func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
        guard text.count % 4 == 0 else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count / 4 * 3)
        var group: UInt32 = 0
        var digits = 0
        var padding = 0
        for byte in text {
            group <<= 6
            if byte == UInt8(ascii: "=") {
                padding += 1
            } else {
                guard padding == 0, let digit = digit(byte) else { return nil }
                group |= digit
            }
            digits += 1
            guard digits == 4 else { continue }
            // Bits that no byte takes must be zero, else two texts would stand for the same bytes.
            guard padding <= 2, group & (1 << (8 * UInt32(padding)) - 1) == 0 else { return nil }
            for place in 0..<(3 - padding) {
                bytes.append(UInt8(truncatingIfNeeded: group >> UInt32(16 - 8 * place)))
            }
            (group, digits) = (0, 0)
            if padding > 0 { padding = 3 }
        }
        return bytes
    }

    private static func digit(_ byte: UInt8) -> UInt32? {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(byte - UInt8(ascii: "A"))
        case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(byte - UInt8(ascii: "a")) + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(byte - UInt8(ascii: "0")) + 52
        case UInt8(ascii: "+"): 62
        case UInt8(ascii: "/"): 63
        default: nil
        }
    }
}
