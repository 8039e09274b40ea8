/// A hash table from message keys to record numbers that grows a page at a time.
///
/// Extendible hashing: the first bits of a key's hash choose one of the pages, and a page that is full is split in two
/// by the next bit. Growing moves one page of 6 KiB, never the whole table, so that no caller waits for that. 24 bytes
/// for each slot; a page is between 44 and 88 percent full, which makes 27 to 56 bytes for each message.
struct MessageTable: Sendable {
    /// A message; the record is 0 where the slot is empty.
    struct Slot: Sendable {
        var key: MessageKey
        var record: UInt64

        static let empty = Slot(key: MessageKey(high: 0, low: 0), record: 0)
    }

    /// A small open-addressing table of the keys whose hashes begin with the same bits.
    fileprivate struct Page: Sendable {
        var slots: [Slot]
        var count = 0
        /// How many bits that are.
        var depth: Int

        init(depth: Int, slots: Int) {
            self.depth = depth
            self.slots = Array(repeating: .empty, count: slots)
        }
    }

    /// How many messages are in the table.
    private(set) var count = 0
    private var pages = [Page(depth: 0, slots: firstSlots)]
    /// The page of each value of the first ``depth`` bits.
    private var directory: [UInt32] = [0]
    private var depth = 0
    // Message identifiers are chosen outside; which page they go to must not be known there.
    private let seed = UInt64.random(in: .min ... .max)
    private let factor = UInt64.random(in: .min ... .max) | 1

    private static let firstSlots = 16
    private static let pageSlots = 256

    /// The record of a message; nil when it is not in the table.
    func record(of key: MessageKey) -> UInt64? {
        let hash = hash(key)
        let page = Int(directory[prefix(hash)])
        let slot = pages[page].slot(of: key)
        let record = pages[page].slots[slot].record
        return record == 0 ? nil : record
    }

    /// Adds a message unless it is in the table; returns the record that it has there, nil when it was added.
    ///
    /// The record is not 0.
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

    /// Gives a message another record; whether it is in the table.
    mutating func update(_ key: MessageKey, record: UInt64) -> Bool {
        let page = Int(directory[prefix(hash(key))])
        let slot = pages[page].slot(of: key)
        guard pages[page].slots[slot].record != 0 else { return false }
        pages[page].slots[slot].record = record
        return true
    }

    /// Removes a message; whether it was in the table.
    @discardableResult
    mutating func remove(_ key: MessageKey) -> Bool {
        let page = Int(directory[prefix(hash(key))])
        guard pages[page].remove(key) else { return false }
        count -= 1
        return true
    }

    /// Removes the messages whose records are chosen; quick when there are none.
    mutating func remove(where isChosen: (UInt64) -> Bool) {
        var chosen: [MessageKey] = []
        forEach { key, record in if isChosen(record) { chosen.append(key) } }
        for key in chosen { remove(key) }
    }

    /// The memory of its pages and of the directory, without what the allocator adds.
    var sizeBytes: Int {
        pages.reduce(directory.count * 4) {
            $0 + MemoryLayout<Page>.stride + $1.slots.count * MemoryLayout<Slot>.stride
        }
    }

    /// Calls `body` with every message, in no order.
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
            // A directory that is larger than this is no use: its keys were chosen to meet in one page.
            guard directory.count <= 64 + count / 16 else { return pages[page].grow() }
            directory = directory.flatMap { [$0, $0] }
            depth += 1
        }
        split(page)
    }

    /// Moves the keys with the next bit set to a new page.
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
        // The entries of a page stand in a row; the second half of them is the new page's.
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
    /// Whether one more would make the search long.
    var isFull: Bool { count >= slots.count / 8 * 7 }

    /// The slot of a key, or the empty one where it belongs.
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

    /// Removes a key and closes the gap: no search stops at an empty slot in front of what it looks for.
    mutating func remove(_ key: MessageKey) -> Bool {
        let mask = slots.count - 1
        var gap = slot(of: key)
        guard slots[gap].record != 0 else { return false }
        var next = (gap + 1) & mask
        while slots[next].record != 0 {
            // It may move when its own place is not between the gap and where it stands.
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
