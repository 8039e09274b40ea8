import BalloonPOSIX

/// A base URL: scheme, host, an optional port and path; nothing else.
struct WebAddress: Sendable, Equatable {
    /// The URL without a trailing slash.
    let text: String
    /// Whether the scheme is `https`.
    let isSecure: Bool
    /// Whether the host is this machine, by IP address or by name.
    let isLoopback: Bool

    /// Parses `https://HOST[:PORT][/PATH]`, or `http://…`; nil for anything else (RFC 3986 §3).
    init?(_ text: String) {
        guard let scheme = ["https://", "http://"].first(where: { text.lowercased().hasPrefix($0) }) else {
            return nil
        }
        // A base URL must not have a user, a query or a fragment, nor characters that RFC 3986 forbids.
        let isClean = text.utf8.allSatisfy { byte in
            (0x21...0x7E).contains(byte) && !"\"<>\\^`{}|@?#".utf8.contains(byte)
        }
        let rest = text.dropFirst(scheme.count)
        let authority = rest.prefix { $0 != "/" }
        guard isClean, let host = Self.host(of: authority) else { return nil }
        isSecure = scheme == "https://"
        // Only an IP address can be in the loopback range: 127.example.com is a host name.
        let literal = SocketAddress("\(SocketAddress.tcp(host: host, port: 0))")
        isLoopback = host == "localhost" || literal?.isLoopback ?? false
        self.text = String(text.reversed().drop { $0 == "/" }.reversed())
    }

    /// The host without brackets; nil when the authority has none, or has an invalid port.
    private static func host(of authority: Substring) -> String? {
        if authority.hasPrefix("[") {
            guard let bracket = authority.firstIndex(of: "]") else { return nil }
            let (inside, behind) = (authority[..<bracket].dropFirst(), authority[bracket...].dropFirst())
            guard isPort(behind), SocketAddress("[\(inside)]:0") != nil else { return nil }
            return String(inside)
        }
        let host = authority.prefix { $0 != ":" }
        guard !host.isEmpty, isPort(authority.dropFirst(host.count)) else { return nil }
        return host.lowercased()
    }

    private static func isPort(_ text: Substring) -> Bool {
        guard text.hasPrefix(":") else { return text.isEmpty }
        return text.dropFirst().utf8.allSatisfy { (0x30...0x39).contains($0) }
            && (UInt16(text.dropFirst()) ?? 0) > 0
    }
}
