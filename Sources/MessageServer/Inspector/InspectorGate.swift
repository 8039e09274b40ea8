import BalloonHTTP
import BalloonWire

/// Decides by a request's head whether the inspector answers it.
///
/// `Host` must be allowed by a ``HostRule``, and `Origin` must have the same host and port as `Host`.
struct InspectorGate: Sendable {
    private let hosts: HostRule
    private let tokenDigest: [UInt8]

    init(hosts: [String], token: String) {
        self.hosts = HostRule(.loopback, names: hosts)
        tokenDigest = SHA256.hash(token.utf8)
    }

    /// The problem of a request; nil when it is admitted.
    func problem(of request: HTTPRequest, needsToken: Bool) -> InspectorProblem? {
        guard let host = request.text(.host), hosts.allows(host) else {
            return InspectorProblem(
                .misdirectedRequest,
                "Host does not name this listener; use 127.0.0.1, or start with --inspector-host NAME")
        }
        if let origin = request.text(.origin), !HostRule.isSame(origin, as: host) {
            return InspectorProblem(.forbidden, "Origin is another site than Host")
        }
        guard needsToken, !hasToken(request) else { return nil }
        var problem = InspectorProblem(
            .unauthorized,
            "the token is missing or wrong; open the address that the server printed at its start")
        problem.fields = [("WWW-Authenticate", "Bearer realm=\"balloon inspector\"")]
        return problem
    }

    /// Whether the header has the token; digests are compared in constant time, so that the time reveals
    /// nothing.
    private func hasToken(_ request: HTTPRequest) -> Bool {
        guard !request.isRepeated(.authorization),
            let given = request.field(.authorization).flatMap(bearerToken)
        else { return false }
        return constantTimeEquals(tokenDigest, SHA256.hash(given))
    }
}
