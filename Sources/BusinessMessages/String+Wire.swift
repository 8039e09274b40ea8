extension StringProtocol {
    /// The text with each escape such as `%41` decoded; all other characters, including plus signs, are
    /// unchanged.
    ///
    /// Decoded bytes that are not UTF-8 become U+FFFD (RFC 3986 §2.1).
    package var percentDecoded: String {
        guard utf8.contains(UInt8(ascii: "%")) else { return String(self) }
        var decoded: [UInt8] = []
        decoded.reserveCapacity(utf8.count)
        var rest = utf8[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%"), let high = rest.first?.hexadecimalDigit,
                let low = rest.dropFirst().first?.hexadecimalDigit
            {
                decoded.append(high << 4 | low)
                rest = rest.dropFirst(2)
            } else {
                decoded.append(byte)
            }
        }
        return String(decoding: decoded, as: UTF8.self)
    }

    /// The text with everything but the unreserved characters of URLs percent-encoded (RFC 3986 §2.3).
    package var percentEncoded: String { Array(utf8).percentEncoded(keeping: \.isUnreserved) }

    /// The text without surrounding white space.
    package var trimmed: SubSequence {
        guard let start = firstIndex(where: { !$0.isWhitespace }),
            let end = lastIndex(where: { !$0.isWhitespace })
        else { return self[endIndex...] }
        return self[start...end]
    }
}

extension [UInt8] {
    /// The bytes as text, percent-encoding each byte that `isKept` rejects (RFC 3986 §2.1).
    func percentEncoded(keeping isKept: (UInt8) -> Bool) -> String {
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

extension UInt8 {
    /// Whether the byte is unreserved in URLs (RFC 3986 §2.3).
    var isUnreserved: Bool {
        switch self {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."),
            UInt8(ascii: "_"), UInt8(ascii: "~"):
            true
        default: false
        }
    }
}

extension UInt8 {
    fileprivate var hexadecimalDigit: UInt8? {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): self - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): self - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): self - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}

extension String {
    /// Whether two texts have the same UTF-8 bytes; `==` would also accept canonically equivalent texts.
    ///
    /// For ASCII texts the fast `==` alone decides. Speed matters here, because every lookup of a
    /// conversation compares identifiers.
    func hasSameBytes(as other: String) -> Bool {
        guard utf8.count == other.utf8.count, self == other else { return false }
        return utf8Span.isKnownASCII || utf8.elementsEqual(other.utf8)
    }
}
