import BalloonHTTP
import BalloonWire

/// Decides by a request's head whether the inspector answers it.
///
/// With DNS rebinding, an attacker's page reaches a loopback address under a name of the attacker, so `Host`
/// must have a known name. A page of another site can name the address itself, so `Origin` must have the same
/// host and port as `Host`.
struct InspectorGate: Sendable {
    private static let loopbackNames: Set<String> = ["localhost", "127.0.0.1", "[::1]"]

    private let names: Set<String>
    private let tokenDigest: [UInt8]

    init(hosts: [String], token: String) {
        names = Self.loopbackNames.union(hosts.map { $0.lowercased() })
        tokenDigest = SHA256.hash(token.utf8)
    }

    /// The problem of a request; nil when it is admitted.
    func problem(host: String?, origin: String?, authorization: [UInt8]?, needsToken: Bool)
        -> InspectorProblem?
    {
        guard let host = host?.lowercased(), names.contains(Self.name(of: host)) else {
            return InspectorProblem(
                .misdirectedRequest,
                "Host does not name this listener; use 127.0.0.1, or start with --inspector-host NAME")
        }
        if let origin = origin?.lowercased(), origin != "http://" + host, origin != "https://" + host {
            return InspectorProblem(.forbidden, "Origin is another site than Host")
        }
        guard needsToken, !hasToken(authorization) else { return nil }
        var problem = InspectorProblem(
            .unauthorized,
            "the token is missing or wrong; open the address that the server printed at its start")
        problem.fields = [("WWW-Authenticate", "Bearer realm=\"balloon inspector\"")]
        return problem
    }

    /// Whether the header has the token; digests are compared in constant time, so that the time reveals
    /// nothing.
    private func hasToken(_ authorization: [UInt8]?) -> Bool {
        let scheme = "bearer "
        guard let authorization,
            String(decoding: authorization.prefix(scheme.utf8.count), as: UTF8.self).lowercased() == scheme
        else { return false }
        return constantTimeEquals(tokenDigest, SHA256.hash(authorization.dropFirst(scheme.utf8.count)))
    }

    /// `Host` without its port.
    private static func name(of host: String) -> String {
        guard host.hasPrefix("[") else { return String(host.prefix { $0 != ":" }) }
        return host.firstIndex(of: "]").map { String(host[...$0]) } ?? host
    }
}
