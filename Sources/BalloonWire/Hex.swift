internal import BalloonJSON

/// Base16 (RFC 4648 §8): written in lower case, decoded from either case, because Apple sends both.
package enum Hex {
    /// Encodes `bytes` in lower case.
    @specialized(where Bytes == [UInt8])
    @specialized(where Bytes == ArraySlice<UInt8>)
    package static func encode<Bytes: Collection<UInt8>>(_ bytes: Bytes) -> String {
        unsafe String(unsafeUninitializedCapacity: bytes.count * 2) { buffer in
            // Sound: exactly two characters are written for each byte, which is the capacity.
            var text = unsafe buffer.mutableSpan
            var written = 0
            for byte in bytes {
                text[written] = digit(byte >> 4)
                text[written + 1] = digit(byte & 15)
                written += 2
            }
            return written
        }
    }

    /// Decodes `text`; throws `WireError.hexMalformed` for an odd length or a byte that is no hexadecimal
    /// digit.
    package static func decode(_ text: some Collection<UInt8>) throws(WireError) -> [UInt8] {
        guard text.count.isMultiple(of: 2) else { throw .hexMalformed }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count / 2)
        var digits = text.makeIterator()
        while let first = digits.next() {
            guard let high = hexadecimalValue(first), let second = digits.next(),
                let low = hexadecimalValue(second)
            else {
                throw .hexMalformed
            }
            bytes.append(high << 4 | low)
        }
        return bytes
    }

    /// Decodes `text`; throws `WireError.hexMalformed` for an odd length or a character that is no
    /// hexadecimal digit.
    package static func decode(_ text: String) throws(WireError) -> [UInt8] {
        try decode(text.utf8)
    }

    private static func digit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
    }
}
