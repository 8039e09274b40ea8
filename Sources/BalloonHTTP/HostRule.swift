/// The hosts by which a listener may be addressed.
///
/// With DNS rebinding, an attacker's web page reaches a listener under a name of the attacker that resolves to the
/// listener's address; `Host` then has that name, because a browser resolves no IP address. A page of another site can
/// name the address itself, and then sends a foreign `Origin`.
package struct HostRule: Sendable {
    /// The addresses that are allowed without being named.
    package enum Addresses: Sendable {
        /// `127.0.0.0/8` and `[::1]`.
        case loopback
        /// Every IP address.
        case any
    }

    private let addresses: Addresses
    private let names: Set<String>

    /// Allows these addresses, `localhost`, and these names, each with any port or with the port that it has.
    package init(_ addresses: Addresses, names: [String] = []) {
        self.addresses = addresses
        self.names = Set(names.map { $0.lowercased() } + ["localhost"])
    }

    /// Whether `host[:port]`, a form that the parser has checked, names the listener.
    package func allows(_ host: String) -> Bool {
        let host = host.lowercased()
        let name = Self.name(of: host)
        if names.contains(name) || names.contains(host) { return true }
        if name.hasPrefix("[") { return addresses == .any || name == "[::1]" }
        let parts = name.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 4, parts.allSatisfy({ UInt8($0) != nil }) else { return false }
        return addresses == .any || parts[0] == "127"
    }

    /// Whether the request's `Host` is allowed, and its `Origin`, if any, has the same host and port.
    package func allows(_ request: HTTPRequest) -> Bool {
        // `Host` may be missing only in HTTP/1.0, which browsers do not send.
        let host = request.field(HTTPFieldName("host")).map { String(decoding: $0, as: UTF8.self) }
        if let host, !allows(host) { return false }
        guard let origin = request.field(HTTPFieldName("origin")) else { return true }
        guard let host else { return false }
        return Self.isSame(String(decoding: origin, as: UTF8.self), as: host)
    }

    /// Whether an `Origin` has the host and the port of a `Host`.
    package static func isSame(_ origin: String, as host: String) -> Bool {
        let (origin, host) = (origin.lowercased(), host.lowercased())
        return origin == "http://" + host || origin == "https://" + host
    }

    /// `Host` without its port.
    private static func name(of host: String) -> String {
        guard host.hasPrefix("[") else { return String(host.prefix { $0 != ":" }) }
        return host.firstIndex(of: "]").map { String(host[...$0]) } ?? host
    }
}
