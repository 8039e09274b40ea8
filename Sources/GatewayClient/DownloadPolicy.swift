import BalloonPOSIX

/// The policy that decides which addresses the client may download from.
///
/// It prevents a message from directing requests to our own network.
///
/// An entry of the list is one of two kinds. A host suffix (`icloud.com` means itself and all names below it)
/// allows `https` on port 443. A literal address with a port allows exactly that address: plain `http` for a
/// loopback address (`127.0.0.1:9000`, used for the simulator), `https` for any other (`10.0.0.7:8443`), even
/// on a private network.
package struct DownloadPolicy: Sendable {
    private let suffixes: [String]
    private let literals: [SocketAddress]

    /// Creates a policy with this list; entries that ``isEntry(_:)`` refuses have no effect.
    package init(hosts: [String]) {
        literals = hosts.compactMap(Self.literal)
        suffixes = hosts.compactMap { Self.literal($0) == nil ? hostName($0[...]) : nil }
    }

    /// Returns whether `text` is a host suffix or a literal address with a port.
    package static func isEntry(_ text: String) -> Bool {
        literal(text) != nil || hostName(text[...]) != nil
    }

    /// Returns the address to download, rebuilt from the checked parts of `url`; throws the reason for a
    /// refusal.
    package func check(_ url: String) throws(DownloadRefusal) -> DownloadAddress {
        let parts = try URLParts(url)
        switch parts.scheme {
        case "https":
            if let address = Self.literal("\(parts.host):\(parts.port ?? 443)"), !address.isLoopback,
                literals.contains(address)
            {
                return DownloadAddress(
                    url: "https://\(address)\(parts.rest)", isPlainHTTP: false, isLiteral: true)
            }
            guard let host = hostName(parts.host), suffixes.contains(where: { covers($0, host) }) else {
                throw .host
            }
            guard parts.port == nil || parts.port == 443 else { throw .port }
            return DownloadAddress(
                url: "https://\(host)\(parts.rest)", isPlainHTTP: false, isLiteral: false)
        case "http":
            guard let port = parts.port, let address = Self.literal("\(parts.host):\(port)"),
                address.isLoopback, literals.contains(address)
            else { throw .host }
            return DownloadAddress(
                url: "http://\(address)\(parts.rest)", isPlainHTTP: true, isLiteral: true)
        default: throw .scheme
        }
    }

    /// Returns whether `host` is `suffix` itself or a name below it.
    ///
    /// The suffix must start at a label boundary: `evilapple.com` is not below `apple.com`.
    private func covers(_ suffix: String, _ host: String) -> Bool {
        host == suffix || host.hasSuffix("." + suffix)
    }

    /// Parses an IP address with a port; returns nil for anything else.
    ///
    /// Names, including `localhost`, are not literals: the resolver decides which address they stand for.
    private static func literal(_ entry: String) -> SocketAddress? {
        guard let address = SocketAddress(entry), (address.port ?? 0) > 0,
            entry.first?.isNumber == true || entry.first == "["
        else { return nil }
        return address
    }
}

/// An address that the policy allows.
package struct DownloadAddress: Sendable, Equatable {
    /// The absolute URL.
    package let url: String
    /// Whether the URL is a listed loopback address, used without TLS.
    package let isPlainHTTP: Bool
    /// Whether the list names exactly this address, so that it may be on a private network.
    package let isLiteral: Bool
}

/// Returns a DNS name in lower case without its trailing dot; nil for anything else, including IP addresses
/// in any spelling.
private func hostName(_ text: Substring) -> String? {
    var name = text.lowercased()
    if name.hasSuffix(".") { name.removeLast() }
    let labels = name.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    // Refuse a last label that begins with a digit: resolvers read `127.1`, `0x7f000001` and `2130706433` as
    // IPv4 addresses.
    guard name.utf8.count <= 253, labels.count >= 2, labels.allSatisfy(isLabel),
        let first = labels.last?.first, first &- UInt8(ascii: "a") < 26
    else { return nil }
    return name
}

/// Returns whether this is one label of a host name: letters, digits and inner hyphens, at most 63 bytes (RFC
/// 1123 §2.1).
private func isLabel(_ label: Substring.UTF8View.SubSequence) -> Bool {
    let hyphen = UInt8(ascii: "-")
    guard (1...63).contains(label.count), label.first != hyphen, label.last != hyphen else { return false }
    return label.allSatisfy {
        $0 &- UInt8(ascii: "a") < 26 || $0 &- UInt8(ascii: "0") < 10 || $0 == hyphen
    }
}
