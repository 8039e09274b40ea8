/// A hash table from digests to slots, split into buckets.
///
/// Each bucket grows alone, so that no insertion takes long. A slot has 4 bytes; the digest itself is in the
/// entry. A large bucket is 44 to 88 percent full.
struct IndexTable: Sendable {
    /// A hash table with linear probing; an element is a slot plus 1, or 0 for an empty place.
    private struct Bucket: Sendable {
        var slots: [UInt32] = []
        var count: UInt32 = 0
    }

    private var buckets: [Bucket] = Array(repeating: Bucket(), count: 4096)
    private(set) var count = 0
    private static let firstSlots = 4

    private func bucket(of digest: ConversationDigest) -> Int { Int(digest.first >> 52) }

    /// Returns the slot of an entry; nil when there is none.
    func slot(of digest: ConversationDigest, business: UInt16, in pages: IndexPages) -> UInt32? {
        let bucket = buckets[bucket(of: digest)]
        guard !bucket.slots.isEmpty else { return nil }
        let found = bucket.slots[Self.place(of: digest, business, in: bucket.slots, pages)]
        return found == 0 ? nil : found - 1
    }

    /// Adds the slot of an entry that the table lacks.
    mutating func insert(_ slot: UInt32, in pages: IndexPages) {
        let entry = pages[slot]
        let index = bucket(of: entry.digest)
        let size = buckets[index].slots.count
        if Int(buckets[index].count) >= size / 8 * 7 {
            grow(index, to: max(Self.firstSlots, size * 2), pages)
        }
        let place = Self.place(of: entry.digest, entry.business, in: buckets[index].slots, pages)
        buckets[index].slots[place] = slot + 1
        buckets[index].count += 1
        count += 1
    }

    /// Removes the slot of an entry, and moves later slots so that no search ends early at an empty place.
    mutating func remove(_ slot: UInt32, in pages: IndexPages) {
        let entry = pages[slot]
        let index = bucket(of: entry.digest)
        guard !buckets[index].slots.isEmpty else { return }
        let mask = buckets[index].slots.count - 1
        var gap = Self.place(of: entry.digest, entry.business, in: buckets[index].slots, pages)
        guard buckets[index].slots[gap] == slot + 1 else { return }
        var next = (gap + 1) & mask
        while buckets[index].slots[next] != 0 {
            let home = Self.home(of: pages[buckets[index].slots[next] - 1].digest, mask)
            if (next - home) & mask >= (next - gap) & mask {
                buckets[index].slots[gap] = buckets[index].slots[next]
                gap = next
            }
            next = (next + 1) & mask
        }
        buckets[index].slots[gap] = 0
        buckets[index].count -= 1
        count -= 1
    }

    private mutating func grow(_ index: Int, to size: Int, _ pages: IndexPages) {
        var larger = [UInt32](repeating: 0, count: size)
        for slot in buckets[index].slots where slot != 0 {
            let entry = pages[slot - 1]
            larger[Self.place(of: entry.digest, entry.business, in: larger, pages)] = slot
        }
        buckets[index].slots = larger
    }

    private static func home(of digest: ConversationDigest, _ mask: Int) -> Int {
        Int(truncatingIfNeeded: digest.second) & mask
    }

    /// Returns the place of an entry's slot, or the empty place at which it would be inserted.
    private static func place(
        of digest: ConversationDigest, _ business: UInt16, in slots: [UInt32], _ pages: IndexPages
    ) -> Int {
        let mask = slots.count - 1
        var place = home(of: digest, mask)
        while slots[place] != 0 {
            let entry = pages[slots[place] - 1]
            if entry.digest == digest, entry.business == business { break }
            place = (place + 1) & mask
        }
        return place
    }
}
