/// The address of a connection's peer, for limits per peer; unspecified on a unix socket.
package struct PeerAddress: Hashable, Sendable {
    // The two integers are the 16 bytes of an IPv6 address. `ListeningSocket.accept(from:)` writes these
    // bytes directly into this value, so it must have no other stored property.
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

    /// The address that a limit per peer applies to: an IPv4 address, or the /64 network of an IPv6 address.
    ///
    /// A provider usually assigns a /64 network to each IPv6 customer.
    package var group: PeerAddress {
        var group = self
        if network != 0 { group.interface = 0 }
        return group
    }
}
