internal import BalloonJSON

extension Checks {
    /// Checks that a text is a UUID, in upper or lower case.
    static func uuid(_ rule: MessageRule) -> Check {
        text(rule, allowed: "a UUID", \.isUUID)
    }

    /// Checks that a text is Base64 of at least one byte.
    static let base64: Check = { value, inspection in
        words(value, &inspection)
        guard let text = value.string, !text.isEmpty, value.base64Bytes == nil else { return }
        inspection.report(.base64, at: value, allowed: "Base64 with padding")
    }

    /// Checks that a text is a language, possibly with its region.
    static let locale = text(.locale, allowed: "a language such as en_US", \.isLocale)

    /// Checks that a text is an absolute `http` or `https` URL.
    static let webAddress = text(.webAddress, allowed: "https:// and a host") {
        $0.isWebAddress(schemes: ["https", "http"])
    }

    /// Checks that a text is an absolute `https` URL.
    static let secureAddress = text(.webAddress, allowed: "https:// and a host") {
        $0.isWebAddress(schemes: ["https"])
    }
}

extension JSONValue {
    /// The decoded bytes of a Base64 string; nil for any other value.
    var base64Bytes: [UInt8]? {
        if let plain = stringBytes { return Base64.decode(plain) }
        return string.flatMap { Base64.decode($0) }
    }
}

extension StringProtocol {
    /// Whether the text is 32 hexadecimal digits in groups of 8, 4, 4, 4 and 12 (RFC 9562 §4).
    var isUUID: Bool {
        let groups = utf8.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        return groups.map(\.count) == [8, 4, 4, 4, 12] && groups.joined().allSatisfy(\.isHexadecimal)
    }

    /// Whether the text is an absolute URL with a host, in printable ASCII (RFC 3986 §4.3).
    func isWebAddress(schemes: Set<String>) -> Bool {
        guard let separator = firstRange(of: "://"),
            schemes.contains(self[..<separator.lowerBound].lowercased())
        else { return false }
        let rest = self[separator.upperBound...]
        guard rest.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else { return false }
        let authority = rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        let place = authority.lastIndex(of: "@").map { authority[authority.index(after: $0)...] } ?? authority
        // The colons of an IPv6 address are inside brackets (RFC 3986 §3.2.2).
        let bracketed = place.first == "[" ? place.firstIndex(of: "]").map(place.index(after:)) : nil
        let host = place[..<(bracketed ?? place.firstIndex(of: ":") ?? place.endIndex)]
        let port = place[host.endIndex...]
        return !host.isEmpty && (port.isEmpty || port.first == ":" && port.dropFirst().allSatisfy(\.isNumber))
    }

    /// Whether the text is a language with optional parts: `en`, `en_US`, `zh-Hans-CN`.
    var isLocale: Bool {
        let parts = utf8.split(omittingEmptySubsequences: false) {
            $0 == UInt8(ascii: "_") || $0 == UInt8(ascii: "-")
        }
        return (2...3).contains(parts[0].count) && parts[0].allSatisfy(\.isASCIILetter)
            && parts.dropFirst().allSatisfy { part in
                (1...8).contains(part.count) && part.allSatisfy { $0.isASCIILetter || $0.isASCIIDigit }
            }
    }
}

extension UInt8 {
    fileprivate var isASCIIDigit: Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) }

    /// Whether the byte is an ASCII letter; setting the bit 0x20 makes an upper-case letter lower case.
    fileprivate var isASCIILetter: Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(self | 0x20) }

    fileprivate var isHexadecimal: Bool {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
            UInt8(ascii: "A")...UInt8(ascii: "F"):
            true
        default: false
        }
    }
}

extension StringProtocol {
    /// Whether the text is `count` hexadecimal digits.
    func isHexadecimal(digits count: Int) -> Bool {
        utf8.count == count && utf8.allSatisfy(\.isHexadecimal)
    }
}
