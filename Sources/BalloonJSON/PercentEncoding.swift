extension Collection<UInt8> {
    /// Returns the bytes with each escape such as `%41` decoded (RFC 3986 §2.1).
    ///
    /// With `plusIsSpace` a plus sign becomes a space, as in a form (`application/x-www-form-urlencoded`). A
    /// percent sign without two hexadecimal digits is kept with `keepsMalformed`; else the result is nil.
    package func percentDecoded(plusIsSpace: Bool = false, keepsMalformed: Bool = false) -> [UInt8]? {
        var decoded: [UInt8] = []
        decoded.reserveCapacity(count)
        var rest = self[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                decoded.append(plusIsSpace && byte == UInt8(ascii: "+") ? UInt8(ascii: " ") : byte)
                continue
            }
            if let high = rest.first.flatMap(hexadecimalValue),
                let low = rest.dropFirst().first.flatMap(hexadecimalValue)
            {
                decoded.append(high << 4 | low)
                rest = rest.dropFirst(2)
            } else if keepsMalformed {
                decoded.append(byte)
            } else {
                return nil
            }
        }
        return decoded
    }
}

extension StringProtocol {
    /// The text with each escape such as `%41` decoded; all other characters, including plus signs, are
    /// unchanged.
    ///
    /// Decoded bytes that are not UTF-8 become U+FFFD (RFC 3986 §2.1).
    package var percentDecoded: String {
        guard utf8.contains(UInt8(ascii: "%")) else { return String(self) }
        return String(decoding: utf8.percentDecoded(keepsMalformed: true) ?? [], as: UTF8.self)
    }

    /// The text with everything but the unreserved characters of URLs percent-encoded (RFC 3986 §2.3).
    package var percentEncoded: String { Array(utf8).percentEncoded(keeping: \.isUnreserved) }
}

extension [UInt8] {
    /// The bytes as text, percent-encoding each byte that `isKept` rejects (RFC 3986 §2.1).
    package func percentEncoded(keeping isKept: (UInt8) -> Bool) -> String {
        var encoded: [UInt8] = []
        encoded.reserveCapacity(count)
        let digits = Array("0123456789ABCDEF".utf8)
        for byte in self {
            if isKept(byte) {
                encoded.append(byte)
            } else {
                encoded += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 0xF)]]
            }
        }
        return String(decoding: encoded, as: UTF8.self)
    }
}
