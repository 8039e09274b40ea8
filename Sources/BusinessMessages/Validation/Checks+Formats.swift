internal import BalloonJSON

extension Checks {
    /// Checks that a text is a UUID, in upper or lower case.
    static func uuid(_ rule: MessageRule) -> Check {
        text(rule, allowed: "a UUID", \.isUUID)
    }

    /// Checks that a text is Base64 of at least one byte.
    static let base64 = all(
        words,
        refuse(.base64, allowed: "Base64 with padding") {
            $0.nonEmptyString != nil && $0.base64Bytes == nil
        })

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
        guard utf8.count == 36 else { return false }
        let groups = utf8.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        return groups.map(\.count) == [8, 4, 4, 4, 12]
            && groups.joined().allSatisfy { hexadecimalValue($0) != nil }
    }

    /// Whether the text is `count` hexadecimal digits.
    func isHexadecimal(digits count: Int) -> Bool {
        utf8.count == count && utf8.allSatisfy { hexadecimalValue($0) != nil }
    }

    /// Whether the text is an absolute URL with a host, in printable ASCII (RFC 3986 §4.3).
    func isWebAddress(schemes: Set<String>) -> Bool {
        guard let authority = webAuthority(schemes: schemes).map({ Array($0.utf8)[...] }) else {
            return false
        }
        let place = authority.lastIndex(of: UInt8(ascii: "@")).map { authority[($0 + 1)...] } ?? authority
        // The colons of an IPv6 address are inside brackets (RFC 3986 §3.2.2).
        let bracketed =
            place.first == UInt8(ascii: "[") ? place.firstIndex(of: UInt8(ascii: "]")).map { $0 + 1 } : nil
        let end = bracketed ?? place.firstIndex(of: UInt8(ascii: ":")) ?? place.endIndex
        let port = place[end...]
        return end > place.startIndex
            && (port.isEmpty || port.first == UInt8(ascii: ":") && port.dropFirst().allSatisfy(\.isDigit))
    }

    /// The scheme of a text that has `://`; nil without it, and for a scheme of more than 64 bytes.
    var webScheme: String? {
        var start = utf8.startIndex
        var length = 0
        while length <= 64, start < utf8.endIndex {
            if utf8[start...].starts(with: "://".utf8) { return String(self[..<start]) }
            start = utf8.index(after: start)
            length += 1
        }
        return nil
    }

    /// The part between `://` and the path of a URL with one of these schemes; nil unless what follows the scheme
    /// is printable ASCII.
    func webAuthority(schemes: Set<String>) -> String? {
        // A scheme of a few letters of ASCII is compared, so that no long text from outside is normalized.
        guard let scheme = webScheme, scheme.utf8.allSatisfy(\.isLetter),
            schemes.contains(scheme.lowercased())
        else { return nil }
        let rest = utf8.dropFirst(scheme.utf8.count + 3)
        guard rest.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else { return nil }
        return String(
            decoding: rest.prefix {
                $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#")
            }, as: UTF8.self)
    }

    /// Whether the text is a language with optional parts: `en`, `en_US`, `zh-Hans-CN`.
    var isLocale: Bool {
        // Far longer than any language; a longer text is not split.
        guard utf8.count <= 255 else { return false }
        let parts = utf8.split(omittingEmptySubsequences: false) {
            $0 == UInt8(ascii: "_") || $0 == UInt8(ascii: "-")
        }
        return (2...3).contains(parts[0].count) && parts[0].allSatisfy(\.isLetter)
            && parts.dropFirst().allSatisfy { part in
                (1...8).contains(part.count) && part.allSatisfy { $0.isLetter || $0.isDigit }
            }
    }
}
