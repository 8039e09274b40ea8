/// The parts of an absolute URL that decide the destination of a request.
///
/// They are parsed more strictly than RFC 3986 requires: libcurl and this parser must read every URL in the
/// same way, so unusual spellings are refused.
struct URLParts {
    /// The scheme in lower case.
    let scheme: String
    /// The host as spelled; an IPv6 address includes its brackets.
    let host: Substring
    /// The port, at least 1; nil when the URL has none.
    let port: UInt16?
    /// Path and query; begins with `/`.
    let rest: String

    init(_ url: String) throws(DownloadRefusal) {
        guard url.utf8.count <= 8192, url.utf8.allSatisfy(isPlain), let colon = url.firstIndex(of: ":"),
            url[colon...].hasPrefix("://")
        else { throw .malformed }
        scheme = url[..<colon].lowercased()
        let afterScheme = url[colon...].dropFirst(3)
        let end = afterScheme.firstIndex { $0 == "/" || $0 == "?" } ?? afterScheme.endIndex
        let authority = afterScheme[..<end]
        guard !authority.contains("@") else { throw .userInformation }
        (host, port) = try Self.split(authority)
        let tail = afterScheme[end...]
        rest = tail.hasPrefix("/") ? String(tail) : "/" + tail
    }

    private static func split(
        _ authority: Substring
    ) throws(DownloadRefusal) -> (host: Substring, port: UInt16?) {
        let nameEnd =
            authority.hasPrefix("[")
            ? authority.firstIndex(of: "]").map(authority.index(after:)) : authority.firstIndex(of: ":")
        let host = authority[..<(nameEnd ?? authority.endIndex)]
        let rest = authority[host.endIndex...]
        guard !host.isEmpty else { throw .malformed }
        guard !rest.isEmpty else { return (host, nil) }
        let digits = rest.dropFirst()
        guard rest.first == ":", digits.utf8.allSatisfy({ $0 &- UInt8(ascii: "0") < 10 }),
            let port = UInt16(digits), port > 0
        else { throw .malformed }
        return (host, port)
    }
}

/// Returns whether a byte may appear in a URL: printable ASCII, except characters that URL parsers treat
/// differently.
///
/// Those characters are the backslash, the fragment sign, quotes, angle and curly brackets, the caret and the
/// vertical bar.
private func isPlain(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x21...0x7E:
        switch byte {
        case UInt8(ascii: "\\"), UInt8(ascii: "#"), UInt8(ascii: "\""), UInt8(ascii: "<"), UInt8(ascii: ">"),
            UInt8(ascii: "^"), UInt8(ascii: "`"), UInt8(ascii: "{"), UInt8(ascii: "|"), UInt8(ascii: "}"):
            false
        default: true
        }
    default: false
    }
}
