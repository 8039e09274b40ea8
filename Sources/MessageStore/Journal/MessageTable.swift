/// A hash table from message keys to record numbers that grows a page at a time.
///
/// It uses extendible hashing: the first bits of a key's hash select a page, and a full page is split by the
/// next bit. Growing moves one page of 6 KiB and never the whole table, so that no caller waits long. A slot
/// has 24 bytes, and pages are 44 to 88 percent full. Each message therefore takes 27 to 56 bytes.
struct MessageTable: Sendable {
    /// A message; the record is 0 in an empty slot.
    struct Slot: Sendable {
        var key: MessageKey
        var record: UInt64

        static let empty = Slot(key: MessageKey(high: 0, low: 0), record: 0)
    }

    /// A small open-addressing table of keys with the same hash prefix.
    fileprivate struct Page: Sendable {
        var slots: [Slot]
        var count = 0
        /// The number of first bits that the hashes of all keys in the page have in common.
        var depth: Int

        init(depth: Int, slots: Int) {
            self.depth = depth
            self.slots = Array(repeating: .empty, count: slots)
        }
    }

    /// The number of messages.
    private(set) var count = 0
    private var pages = [Page(depth: 0, slots: firstSlots)]
    /// The index of the page for each value of the hash's first ``depth`` bits.
    private var directory: [UInt32] = [0]
    private var depth = 0
    // Senders choose message ids; because of the random seed, they cannot choose the page.
    private let seed = UInt64.random(in: .min ... .max)
    private let factor = UInt64.random(in: .min ... .max) | 1

    private static let firstSlots = 16
    private static let pageSlots = 256

    /// The record of a message; nil when it is unknown.
    func record(of key: MessageKey) -> UInt64? {
        let hash = hash(key)
        let page = Int(directory[prefix(hash)])
        let slot = pages[page].slot(of: key)
        let record = pages[page].slots[slot].record
        return record == 0 ? nil : record
    }

    /// Adds a message unless it is known; returns the record of a known message, or nil when it was added.
    ///
    /// The record must not be 0.
    mutating func insert(_ key: MessageKey, record: UInt64) -> UInt64? {
        let hash = hash(key)
        var page = Int(directory[prefix(hash)])
        var slot = pages[page].slot(of: key)
        let known = pages[page].slots[slot].record
        if known != 0 { return known }
        while pages[page].isFull {
            makeRoom(in: page)
            page = Int(directory[prefix(hash)])
            slot = pages[page].slot(of: key)
        }
        pages[page].slots[slot] = Slot(key: key, record: record)
        pages[page].count += 1
        count += 1
        return nil
    }

    /// Changes the record of a message; returns whether it is known.
    mutating func update(_ key: MessageKey, record: UInt64) -> Bool {
        let page = Int(directory[prefix(hash(key))])
        let slot = pages[page].slot(of: key)
        guard pages[page].slots[slot].record != 0 else { return false }
        pages[page].slots[slot].record = record
        return true
    }

    /// Removes a message; returns whether it was known.
    @discardableResult
    mutating func remove(_ key: MessageKey) -> Bool {
        let page = Int(directory[prefix(hash(key))])
        guard pages[page].remove(key) else { return false }
        count -= 1
        return true
    }

    /// Removes every message whose record satisfies `isChosen`.
    mutating func remove(where isChosen: (UInt64) -> Bool) {
        var chosen: [MessageKey] = []
        forEach { key, record in if isChosen(record) { chosen.append(key) } }
        for key in chosen { remove(key) }
    }

    /// The size of the pages and the directory in memory, without the allocator's overhead.
    var sizeBytes: Int {
        pages.reduce(directory.count * 4) {
            $0 + MemoryLayout<Page>.stride + $1.slots.count * MemoryLayout<Slot>.stride
        }
    }

    /// Calls `body` with every message; the order is undefined.
    func forEach(_ body: (MessageKey, UInt64) -> Void) {
        for page in pages {
            for slot in page.slots where slot.record != 0 { body(slot.key, slot.record) }
        }
    }

    private func hash(_ key: MessageKey) -> UInt64 { (key.low ^ seed) &* factor }

    private func prefix(_ hash: UInt64) -> Int {
        depth == 0 ? 0 : Int(truncatingIfNeeded: hash >> UInt64(64 - depth))
    }

    private mutating func makeRoom(in page: Int) {
        if pages[page].slots.count < Self.pageSlots { return pages[page].grow() }
        if pages[page].depth == depth {
            // A directory that is large for the number of messages shows keys that were chosen to collide. A
            // split would not separate such keys, so the page grows instead.
            guard directory.count <= 64 + count / 16 else { return pages[page].grow() }
            directory = directory.flatMap { [$0, $0] }
            depth += 1
        }
        split(page)
    }

    /// Moves the keys whose next hash bit is 1 to a new page.
    private mutating func split(_ page: Int) {
        let full = pages[page]
        let pageDepth = full.depth + 1
        let bit = UInt64(1) << UInt64(64 - pageDepth)
        let other = UInt32(pages.count)
        var low = Page(depth: pageDepth, slots: full.slots.count)
        var high = Page(depth: pageDepth, slots: full.slots.count)
        for slot in full.slots where slot.record != 0 {
            if hash(slot.key) & bit == 0 { low.add(slot) } else { high.add(slot) }
        }
        // The directory entries of a page are consecutive; the second half of them now points to the new
        // page.
        let length = 1 << (depth - full.depth)
        var first = 0
        if let any = full.slots.first(where: { $0.record != 0 }) {
            first = prefix(hash(any.key)) & ~(length - 1)
        }
        for entry in first + length / 2..<first + length { directory[entry] = other }
        pages[page] = low
        pages.append(high)
    }
}

extension MessageTable.Page {
    /// Whether the page is 7/8 full; with more keys, searches would take long.
    var isFull: Bool { count >= slots.count / 8 * 7 }

    /// Returns the slot of a key, or the empty slot in which to insert it.
    func slot(of key: MessageKey) -> Int {
        let mask = slots.count - 1
        var slot = home(of: key)
        while slots[slot].record != 0, slots[slot].key != key { slot = (slot + 1) & mask }
        return slot
    }

    mutating func add(_ slot: MessageTable.Slot) {
        slots[self.slot(of: slot.key)] = slot
        count += 1
    }

    mutating func grow() {
        var larger = Self(depth: depth, slots: slots.count * 2)
        for slot in slots where slot.record != 0 { larger.add(slot) }
        self = larger
    }

    /// Removes a key, and moves later keys into the gap, because a search stops at the first empty slot.
    mutating func remove(_ key: MessageKey) -> Bool {
        let mask = slots.count - 1
        var gap = slot(of: key)
        guard slots[gap].record != 0 else { return false }
        var next = (gap + 1) & mask
        while slots[next].record != 0 {
            // A key may move into the gap when its home slot is not between the gap and its current slot.
            if (next - home(of: slots[next].key)) & mask >= (next - gap) & mask {
                slots[gap] = slots[next]
                gap = next
            }
            next = (next + 1) & mask
        }
        slots[gap] = .empty
        count -= 1
        return true
    }

    private func home(of key: MessageKey) -> Int {
        Int(truncatingIfNeeded: key.high) & (slots.count - 1)
    }
}
