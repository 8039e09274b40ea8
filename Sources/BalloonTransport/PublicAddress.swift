/// Whether an address belongs to the public internet: unicast, and in none of IANA's special-purpose registries.
///
/// `address` has 16 bytes; an IPv4 address is given as `::ffff:a.b.c.d`. In mapped and translated addresses,
/// the embedded IPv4 address decides (RFC 4291 §2.5.5.2, RFC 6052). Addresses of 6to4 and Teredo, which also
/// embed an IPv4 address, are never public (RFC 3056, RFC 4380).
func isPublicAddress(_ address: Span<UInt8>) -> Bool {
    let first = word(0, of: address)
    let middle = UInt64(word(4, of: address)) << 32 | UInt64(word(8, of: address))
    let isMapped = first == 0 && middle == 0xffff
    let isTranslated = first == 0x0064_ff9b && middle == 0
    guard isMapped || isTranslated else {
        return AddressBlock.globalUnicast.contains(first)
            && !AddressBlock.specialIPv6.contains { $0.contains(first) }
    }
    let embedded = word(12, of: address)
    return !AddressBlock.specialIPv4.contains { $0.contains(embedded) }
}

private func word(_ start: Int, of address: Span<UInt8>) -> UInt32 {
    (start..<start + 4).reduce(0) { $0 << 8 | UInt32(address[$1]) }
}

/// A block of addresses that begin with the same `bits` bits, at most 32.
private struct AddressBlock {
    let prefix: UInt32
    let bits: Int

    init(_ prefix: UInt32, _ bits: Int) {
        self.prefix = prefix
        self.bits = bits
    }

    func contains(_ word: UInt32) -> Bool { (word ^ prefix) >> (32 - bits) == 0 }

    static let globalUnicast = AddressBlock(0x2000_0000, 3)

    /// The blocks of IANA's IPv6 Special-Purpose Address Registry that lie in 2000::/3.
    static let specialIPv6 = [
        // The blocks for protocol assignments with Teredo, for documentation, for 6to4, and again for
        // documentation.
        AddressBlock(0x2001_0000, 23), AddressBlock(0x2001_0db8, 32), AddressBlock(0x2002_0000, 16),
        AddressBlock(0x3fff_0000, 20),
    ]

    /// The blocks of IANA's IPv4 Special-Purpose Address Registry, and multicast.
    static let specialIPv4 = [
        // The blocks for "this network", private networks, shared address space (RFC 6598), and loopback.
        AddressBlock(0x0000_0000, 8), AddressBlock(0x0a00_0000, 8), AddressBlock(0x6440_0000, 10),
        AddressBlock(0x7f00_0000, 8),
        // The blocks for link-local addresses, with the metadata services of clouds, and for private
        // networks.
        AddressBlock(0xa9fe_0000, 16), AddressBlock(0xac10_0000, 12),
        // The blocks for protocol assignments, documentation, 6to4 relays, and private networks.
        AddressBlock(0xc000_0000, 24), AddressBlock(0xc000_0200, 24), AddressBlock(0xc058_6300, 24),
        AddressBlock(0xc0a8_0000, 16),
        // The blocks for benchmarking and documentation.
        AddressBlock(0xc612_0000, 15), AddressBlock(0xc633_6400, 24), AddressBlock(0xcb00_7100, 24),
        // The block for multicast, and the reserved block with the broadcast address.
        AddressBlock(0xe000_0000, 4), AddressBlock(0xf000_0000, 4),
    ]
}
