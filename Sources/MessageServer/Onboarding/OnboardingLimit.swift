import BalloonPOSIX

/// Limits the claims to five from one address within an hour, and counts at most 10,000 addresses at a time.
///
/// A restart resets the counts.
struct OnboardingLimit: Sendable {
    /// The origin of a claim: the connection's peer, or the client that a proxy on this machine names.
    enum Origin: Hashable, Sendable {
        case peer(PeerAddress)
        case forwarded(String)

        /// Creates the origin of a request from `peer`, whose last `X-Forwarded-For` field has the given
        /// value.
        ///
        /// The field counts only when the peer is a proxy on this machine, and only its last element, because
        /// the proxy itself added that element. The elements before it may come from the client.
        init(_ peer: PeerAddress, forwardedFor: String?) {
            let values = forwardedFor?.split(separator: ",", omittingEmptySubsequences: false)
            let client = values?.last?.filter { !$0.isWhitespace } ?? ""
            self =
                peer.isLocal && (1...Self.maximumBytes).contains(client.utf8.count)
                ? .forwarded(client) : .peer(peer.group)
        }

        /// The length of the longest IPv6 address with a zone and a port, in bytes.
        private static let maximumBytes = 64
    }

    static let maximumPerHour = 5
    static let maximumOrigins = 10_000
    private static let hour = Duration.seconds(3600)
    private var claims: [Origin: [ContinuousClock.Instant]] = [:]

    /// Counts a claim; false when the origin had five within the last hour, or when too many origins are
    /// counted.
    mutating func admit(_ origin: Origin, at now: ContinuousClock.Instant) -> Bool {
        if claims[origin] == nil, claims.count >= Self.maximumOrigins {
            claims = claims.filter { $0.value.contains { now - $0 < Self.hour } }
        }
        let recent = (claims[origin] ?? []).filter { now - $0 < Self.hour }
        guard recent.count < Self.maximumPerHour else { return false }
        guard claims[origin] != nil || claims.count < Self.maximumOrigins else { return false }
        claims[origin] = recent + [now]
        return true
    }
}
