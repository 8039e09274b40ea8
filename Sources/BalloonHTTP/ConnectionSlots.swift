/// A shard's connections by token, found in O(1); the token of a closed connection finds nothing.
struct ConnectionSlots {
    private var slots: [Connection?] = []
    private var generations: [UInt32] = []
    private var free: [UInt32] = []

    var isEmpty: Bool { slots.count == free.count }

    /// All current connections.
    var all: [Connection] { slots.compactMap(\.self) }

    subscript(token: UInt64) -> Connection? {
        let slot = Int(token & 0xFFFF_FFFF)
        guard slot < slots.count, let connection = slots[slot], connection.token == token else { return nil }
        return connection
    }

    /// The token for a connection that must be inserted next.
    mutating func makeToken() -> UInt64 {
        let slot: Int
        if let reused = free.popLast() {
            slot = Int(reused)
        } else {
            slot = slots.count
            slots.append(nil)
            generations.append(0)
        }
        generations[slot] &+= 1
        // The top bit of the generation is zero, so that tokens never equal those of other descriptors.
        return UInt64(generations[slot] & 0x7FFF_FFFF) << 32 | UInt64(slot)
    }

    mutating func insert(_ connection: Connection) {
        slots[Int(connection.token & 0xFFFF_FFFF)] = connection
    }

    mutating func remove(_ connection: Connection) {
        let slot = Int(connection.token & 0xFFFF_FFFF)
        slots[slot] = nil
        free.append(UInt32(slot))
    }
}
