import BalloonPOSIX

/// Decides which addresses may be fetched, so that nobody makes us ask machines on our own network.
///
/// Entries of the list are host suffixes (`icloud.com` stands for itself and all names below it), which are fetched
/// over `https` on port 443, or literal addresses with a port: a loopback one (`127.0.0.1:9000`) is fetched over plain `http`,
/// which is how the simulator is reached; any other (`10.0.0.7:8443`) over `https`, though it may be near us.
package struct DownloadPolicy: Sendable {
    private let suffixes: [String]
    private let literals: [SocketAddress]

    /// Takes the list; an entry that ``isEntry(_:)`` refuses lets nothing through.
    package init(hosts: [String]) {
        literals = hosts.compactMap(Self.literal)
        suffixes = hosts.compactMap { Self.literal($0) == nil ? hostName($0[...]) : nil }
    }

    /// Whether `text` is a host suffix or a literal address with a port.
    package static func isEntry(_ text: String) -> Bool {
        literal(text) != nil || hostName(text[...]) != nil
    }

    /// Returns the address to fetch, rebuilt from its checked parts, or throws why there is none.
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

    /// A label boundary must be before the suffix: `evilapple.com` is not below `apple.com`.
    private func covers(_ suffix: String, _ host: String) -> Bool {
        host == suffix || host.hasSuffix("." + suffix)
    }

    /// Names, `localhost` too, are no literals: somebody else decides what they mean.
    private static func literal(_ entry: String) -> SocketAddress? {
        guard let address = SocketAddress(entry), (address.port ?? 0) > 0,
            entry.first?.isNumber == true || entry.first == "["
        else { return nil }
        return address
    }
}

/// An address that may be fetched.
package struct DownloadAddress: Sendable, Equatable {
    /// The absolute URL.
    package let url: String
    /// Whether it is a listed loopback address, without TLS.
    package let isPlainHTTP: Bool
    /// Whether the list names this very address, so that it may be near us.
    package let isLiteral: Bool
}

/// Returns a DNS name in lower case without its trailing dot; nil for anything else, IP addresses in any spelling too.
private func hostName(_ text: Substring) -> String? {
    var name = text.lowercased()
    if name.hasSuffix(".") { name.removeLast() }
    let labels = name.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    // A last label that begins with a digit is read as an IPv4 address: `127.1`, `0x7f000001`, `2130706433`.
    guard name.utf8.count <= 253, labels.count >= 2, labels.allSatisfy(isLabel),
        let first = labels.last?.first, first &- UInt8(ascii: "a") < 26
    else { return nil }
    return name
}

/// RFC 1123 §2.1: letters, digits and inner hyphens, at most 63.
private func isLabel(_ label: Substring.UTF8View.SubSequence) -> Bool {
    let hyphen = UInt8(ascii: "-")
    guard (1...63).contains(label.count), label.first != hyphen, label.last != hyphen else { return false }
    return label.allSatisfy {
        $0 &- UInt8(ascii: "a") < 26 || $0 &- UInt8(ascii: "0") < 10 || $0 == hyphen
    }
}
