/// The address of a connection's peer, for limits per peer; unspecified on a unix socket.
package struct PeerAddress: Hashable, Sendable {
    // The 16 bytes of an IPv6 address. `ListeningSocket.accept(from:)` writes them into this value, so it may
    // store no other member.
    private var network: UInt64 = 0
    private var interface: UInt64 = 0

    /// Creates the unspecified address.
    package init() {}

    /// Whether the peer is on this machine: a loopback address, or a unix socket.
    package var isLocal: Bool {
        guard network == 0 else { return false }
        let low = interface.bigEndian
        // The unspecified address, ::1, and 127.0.0.0/8 as ::ffff:127.x.x.x.
        return low <= 1 || low >> 24 == 0xFFFF_7F
    }

    /// The unit that limits apply to: an IPv4 address, or the /64 network that an IPv6 customer is usually
    /// assigned.
    package var group: PeerAddress {
        var group = self
        if network != 0 { group.interface = 0 }
        return group
    }
}
