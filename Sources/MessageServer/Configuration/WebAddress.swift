import BalloonPOSIX

/// A base address on the web: scheme, host, perhaps a port and a path; nothing else.
struct WebAddress: Sendable, Equatable {
    /// The address without a slash at its end.
    let text: String
    /// Whether the scheme is `https`.
    let isSecure: Bool
    /// Whether the host is this machine, by address or by name.
    let isLoopback: Bool

    /// Reads `https://HOST[:PORT][/PATH]`, or `http://…`; nil for anything else (RFC 3986 §3).
    init?(_ text: String) {
        guard let scheme = ["https://", "http://"].first(where: { text.lowercased().hasPrefix($0) }) else {
            return nil
        }
        // A user, a query or a fragment has no place in a base address; neither has what RFC 3986 does not allow.
        let isClean = text.utf8.allSatisfy { byte in
            (0x21...0x7E).contains(byte) && !"\"<>\\^`{}|@?#".utf8.contains(byte)
        }
        let rest = text.dropFirst(scheme.count)
        let authority = rest.prefix { $0 != "/" }
        guard isClean, let host = Self.host(of: authority) else { return nil }
        isSecure = scheme == "https://"
        // Read as a literal: 127.example.com is a name.
        let literal = SocketAddress("\(SocketAddress.tcp(host: host, port: 0))")
        isLoopback = host == "localhost" || literal?.isLoopback ?? false
        self.text = String(text.reversed().drop { $0 == "/" }.reversed())
    }

    /// The host without brackets; nil when the authority has none or its port is not one.
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
