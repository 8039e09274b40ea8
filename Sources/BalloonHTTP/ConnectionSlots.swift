/// The connections of a shard, found by token in O(1); the token of a closed connection is never valid again.
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

    /// Reserves a slot and returns its token, which the caller must use for the next connection that it
    /// inserts.
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
        // The top bit of the token stays zero, so that no token equals that of the mailbox or of an acceptor.
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
