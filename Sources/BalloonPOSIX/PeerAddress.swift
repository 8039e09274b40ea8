/// Who is at the other end of a connection, as far as limits care; on a unix socket, nobody in particular.
package struct PeerAddress: Hashable, Sendable {
    // In the order of the bytes of an IPv6 address; nothing else may be stored here.
    private var network: UInt64 = 0
    private var interface: UInt64 = 0

    /// Makes the address of nobody in particular.
    package init() {}

    /// Whether it is on this machine: a loopback address, or a unix socket.
    package var isLocal: Bool {
        guard network == 0 else { return false }
        let low = interface.bigEndian
        // Nobody in particular, ::1, and 127.0.0.0/8 as ::ffff:127.x.x.x.
        return low <= 1 || low >> 24 == 0xFFFF_7F
    }

    /// What is counted as one: an IPv4 address, or the /64 network that one IPv6 customer is usually given.
    package var group: PeerAddress {
        var group = self
        if network != 0 { group.interface = 0 }
        return group
    }
}
