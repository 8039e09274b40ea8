/// Whether an address belongs to the public internet: unicast, and in none of IANA's special-purpose registries.
///
/// 16 bytes; an IPv4 address is `::ffff:a.b.c.d`. An embedded IPv4 address decides where the embedding is in
/// use (RFC 4291 §2.5.5.2, RFC 6052); where it is not, the address is never public (RFC 3056, RFC 4380).
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

/// Addresses that begin with the same bits, at most 32.
private struct AddressBlock {
    let prefix: UInt32
    let bits: Int

    init(_ prefix: UInt32, _ bits: Int) {
        self.prefix = prefix
        self.bits = bits
    }

    func contains(_ word: UInt32) -> Bool { (word ^ prefix) >> (32 - bits) == 0 }

    static let globalUnicast = AddressBlock(0x2000_0000, 3)

    /// IANA IPv6 Special-Purpose Address Registry, limited to 2000::/3.
    static let specialIPv6 = [
        // Protocol assignments with Teredo, documentation, 6to4, documentation.
        AddressBlock(0x2001_0000, 23), AddressBlock(0x2001_0db8, 32), AddressBlock(0x2002_0000, 16),
        AddressBlock(0x3fff_0000, 20),
    ]

    /// IANA IPv4 Special-Purpose Address Registry, and multicast.
    static let specialIPv4 = [
        // This network, private, shared address space (RFC 6598), loopback.
        AddressBlock(0x0000_0000, 8), AddressBlock(0x0a00_0000, 8), AddressBlock(0x6440_0000, 10),
        AddressBlock(0x7f00_0000, 8),
        // Link-local including cloud metadata services, private.
        AddressBlock(0xa9fe_0000, 16), AddressBlock(0xac10_0000, 12),
        // Protocol assignments, documentation, 6to4 relays, private.
        AddressBlock(0xc000_0000, 24), AddressBlock(0xc000_0200, 24), AddressBlock(0xc058_6300, 24),
        AddressBlock(0xc0a8_0000, 16),
        // Benchmarking, documentation.
        AddressBlock(0xc612_0000, 15), AddressBlock(0xc633_6400, 24), AddressBlock(0xcb00_7100, 24),
        // Multicast, reserved and broadcast.
        AddressBlock(0xe000_0000, 4), AddressBlock(0xf000_0000, 4),
    ]
}
