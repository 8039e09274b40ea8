import BalloonPOSIX

/// Decides which addresses may be fetched, so that nobody makes us ask machines on our own network.
///
/// Entries of the list are host suffixes (`icloud.com` stands for itself and all names below it), which are fetched
/// over `https` on port 443, or literal loopback addresses with a port (`127.0.0.1:9000`), which are fetched over plain
/// `http`; that is how the simulator is reached.
package struct DownloadPolicy: Sendable {
    private let suffixes: [String]
    private let loopbacks: [SocketAddress]

    /// Takes the list; an entry that ``isEntry(_:)`` refuses lets nothing through.
    package init(hosts: [String]) {
        loopbacks = hosts.compactMap(Self.loopback)
        suffixes = hosts.compactMap { Self.loopback($0) == nil ? hostName($0[...]) : nil }
    }

    /// Whether `text` is a host suffix or a literal loopback address with a port.
    package static func isEntry(_ text: String) -> Bool {
        loopback(text) != nil || hostName(text[...]) != nil
    }

    /// Returns the address to fetch, rebuilt from its checked parts, or throws why there is none.
    package func check(_ url: String) throws(DownloadRefusal) -> DownloadAddress {
        let parts = try URLParts(url)
        switch parts.scheme {
        case "https":
            guard let host = hostName(parts.host), suffixes.contains(where: { covers($0, host) }) else {
                throw .host
            }
            guard parts.port == nil || parts.port == 443 else { throw .port }
            return DownloadAddress(url: "https://\(host)\(parts.rest)", isPlainHTTP: false)
        case "http":
            guard let port = parts.port, let address = Self.loopback("\(parts.host):\(port)"),
                loopbacks.contains(address)
            else { throw .host }
            return DownloadAddress(url: "http://\(address)\(parts.rest)", isPlainHTTP: true)
        default: throw .scheme
        }
    }

    /// A label boundary must be before the suffix: `evilapple.com` is not below `apple.com`.
    private func covers(_ suffix: String, _ host: String) -> Bool {
        host == suffix || host.hasSuffix("." + suffix)
    }

    /// Names, `localhost` too, are no literals: somebody else decides what they mean.
    private static func loopback(_ entry: String) -> SocketAddress? {
        guard let address = SocketAddress(entry), address.isLoopback, address.port != nil,
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
