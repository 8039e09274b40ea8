/// The entries of an index by slot, in pages of fixed size, so that growth copies no entry.
struct IndexPages: Sendable {
    private var pages: [[IndexEntry]] = []
    private var free: [UInt32] = []
    private var used: UInt32 = 0
    static let pageEntries = 1024

    subscript(slot: UInt32) -> IndexEntry {
        get { pages[Int(slot) / Self.pageEntries][Int(slot) % Self.pageEntries] }
        set { pages[Int(slot) / Self.pageEntries][Int(slot) % Self.pageEntries] = newValue }
    }

    /// Stores an entry and returns its slot.
    mutating func insert(_ entry: IndexEntry) -> UInt32 {
        if let slot = free.popLast() {
            self[slot] = entry
            return slot
        }
        let slot = used
        used += 1
        if Int(slot) / Self.pageEntries == pages.count {
            pages.append([])
            pages[pages.count - 1].reserveCapacity(Self.pageEntries)
        }
        pages[pages.count - 1].append(entry)
        return slot
    }

    /// Releases a slot, so that a later entry can use it.
    mutating func remove(_ slot: UInt32) { free.append(slot) }
}
