import BalloonPOSIX
import BusinessMessages

/// An entry for every conversation with the facts of its last line, sorted by the time of that line.
///
/// A list therefore opens only the files that it shows. An entry takes 68 to 83 bytes of memory. The customer
/// and the text are only in the conversation's file, which the digest names.
struct ConversationIndex: Sendable {
    /// The facts of a conversation's last line.
    struct Line: Hashable, Sendable {
        let at: Timestamp
        let kind: Kind
        let isOutbound: Bool
        /// The line's number.
        let sequence: Int
        /// The day of the conversation's oldest line; nil keeps the known day, when the file was not read.
        var oldestDay: UInt16?
    }

    /// The conditions that an entry must meet to be in a list.
    struct Filter: Sendable {
        /// The entries to omit: the first words of their digests.
        var excluded: Set<UInt64> = []
        /// The kind of the last line; nil for any kind.
        var kind: Kind?
        /// The earliest time of the last line; nil for any time.
        var since: Timestamp?
        /// The time before which the last line must have been written; nil for any time.
        var until: Timestamp?
    }

    /// A part of a list, latest first.
    struct Page: Sendable {
        var entries: [IndexEntry] = []
        /// The position before which the list continues; nil at its end.
        var next: IndexEntry.Position?
        /// The number of entries that were compared with the filter.
        var examined = 0
    }

    /// The folders of the businesses; an entry names a business by its index here.
    private(set) var businesses: [String] = []
    private var numbers: [String: UInt16] = [:]
    /// For each business, the order of its entries.
    private var orders: [IndexOrder] = []
    private var pages = IndexPages()
    private var table = IndexTable()
    /// The slots of entries that the index's file lacks.
    ///
    /// A slot may be listed twice, and its entry may have been written since.
    private var unwritten: [UInt32] = []
    /// The removed conversations whose entries the index's file may still have, as entries without lines.
    private var removed: [IndexEntry] = []

    /// The number of entries.
    var count: Int { table.count }

    /// Returns the number of a business's folder; nil when the index has no room for a new business.
    mutating func number(of business: String) -> UInt16? {
        if let number = numbers[business] { return number }
        guard let number = UInt16(exactly: businesses.count) else { return nil }
        businesses.append(business)
        orders.append(IndexOrder())
        numbers[business] = number
        return number
    }

    /// The entry of a conversation; nil when there is none.
    func entry(of name: ConversationName) -> IndexEntry? {
        guard let number = numbers[name.business] else { return nil }
        return table.slot(of: name.digest, business: number, in: pages).map { pages[$0] }
    }

    /// Sets the last line of a conversation, and marks the entry as missing in the index's file.
    mutating func record(_ line: Line, of name: ConversationName) {
        guard let number = number(of: name.business) else { return }
        var entry = IndexEntry(line, name.digest, business: number)
        if line.oldestDay == nil, let slot = table.slot(of: name.digest, business: number, in: pages) {
            entry.oldestDay = pages[slot].oldestDay
        }
        entry.isUnwritten = true
        set(entry)
    }

    /// Adds an entry that was read from a file, unless a later one is known; returns whether it was added.
    @discardableResult
    mutating func restore(_ entry: IndexEntry) -> Bool {
        guard Int(entry.business) < businesses.count else { return false }
        var entry = entry
        entry.isUnwritten = false
        if let slot = table.slot(of: entry.digest, business: entry.business, in: pages),
            pages[slot].isUnwritten
        {
            // A line that was recorded after the file was written is not the oldest one, so the earlier day
            // is right.
            pages[slot].oldestDay = min(pages[slot].oldestDay, entry.oldestDay)
            return false
        }
        set(entry)
        return true
    }

    /// Adds the last line of a conversation's file, unless a later one is known.
    mutating func restore(_ line: Line, of name: ConversationName) {
        guard let number = number(of: name.business) else { return }
        restore(IndexEntry(line, name.digest, business: number))
    }

    private mutating func set(_ entry: IndexEntry) {
        let business = Int(entry.business)
        guard let slot = table.slot(of: entry.digest, business: entry.business, in: pages) else {
            let slot = pages.insert(entry)
            table.insert(slot, in: pages)
            orders[business].insert(slot, in: pages)
            if entry.isUnwritten { unwritten.append(slot) }
            return
        }
        let old = pages[slot]
        if old.milliseconds == entry.milliseconds {
            pages[slot] = entry
        } else {
            orders[business].remove(slot, in: pages)
            pages[slot] = entry
            orders[business].insert(slot, in: pages)
        }
        if entry.isUnwritten, !old.isUnwritten { unwritten.append(slot) }
    }

    /// Removes the entry of a conversation; the next write also removes it from the index's file.
    mutating func remove(_ name: ConversationName) {
        // Record the removal even without an entry: the index's file may have one that has not been read yet.
        guard let number = number(of: name.business) else { return }
        removed.append(
            IndexEntry(
                name.digest, business: number, at: 0, lines: 0, kindNumber: 0, isOutbound: false, oldestDay: 0
            ))
        if let slot = table.slot(of: name.digest, business: number, in: pages) { remove(slot) }
    }

    /// Removes the entry of a conversation, unless a line was recorded after the entry was read from a file.
    mutating func removeWritten(_ name: ConversationName) {
        guard let number = numbers[name.business],
            let slot = table.slot(of: name.digest, business: number, in: pages), !pages[slot].isUnwritten
        else { return }
        remove(slot)
    }

    /// Removes all entries that were read from a file and not changed since.
    mutating func removeWritten() {
        var kept = ConversationIndex()
        for business in businesses { _ = kept.number(of: business) }
        removed = []
        for entry in takeUnwritten(maximum: .max) {
            var entry = entry
            entry.isUnwritten = true
            kept.set(entry)
        }
        self = kept
    }

    private mutating func remove(_ slot: UInt32) {
        let entry = pages[slot]
        orders[Int(entry.business)].remove(slot, in: pages)
        table.remove(slot, in: pages)
        pages[slot].isUnwritten = false
        pages.remove(slot)
    }

    /// Returns the latest entries of a business before a position.
    ///
    /// At most `budget` entries are compared with the filter. A position stays valid when entries are added
    /// or change: an entry that gets a newer line moves before the list's first page.
    func page(
        of business: String, _ filter: Filter = Filter(), before position: IndexEntry.Position? = nil,
        limit: Int, budget: Int = 4096
    ) -> Page {
        var page = Page()
        guard let number = numbers[business], limit > 0 else { return page }
        var last: IndexEntry.Position?
        let order = orders[Int(number)]
        let start = [position, filter.until.map(Self.position)].compactMap(\.self).min()
        var place = start.map { order.place($0, in: pages) } ?? order.end
        while let slot = order.previous(&place) {
            let entry = pages[slot]
            if let since = filter.since, entry.milliseconds < since.milliseconds { break }
            if page.entries.count == limit || page.examined == budget {
                page.next = last
                return page
            }
            page.examined += 1
            last = entry.position
            if filter.wants(entry) { page.entries.append(entry) }
        }
        return page
    }

    private static func position(_ time: Timestamp) -> IndexEntry.Position {
        IndexEntry.Position(
            milliseconds: time.milliseconds, digest: ConversationDigest(0, 0, 0, 0))
    }
}

extension ConversationIndex {
    /// Returns up to `maximum` entries that the index's file lacks, and marks them as written.
    ///
    /// Those of removed conversations, which have no lines, come first: a removed conversation may have new lines.
    mutating func takeUnwritten(maximum: Int) -> [IndexEntry] {
        var entries = Array(removed.prefix(maximum))
        removed.removeFirst(entries.count)
        while entries.count < maximum, let slot = unwritten.popLast() {
            guard pages[slot].isUnwritten else { continue }
            pages[slot].isUnwritten = false
            entries.append(pages[slot])
        }
        if unwritten.isEmpty { unwritten = [] }
        return entries
    }

    /// The position of an iteration over all entries, by business and then by time.
    ///
    /// A file whose entries have this order is loaded fastest.
    struct Cursor: Sendable {
        fileprivate var business = 0
        fileprivate var after: IndexEntry.Position?
    }

    /// Returns the next entries of an iteration, at most `maximum`; empty at its end.
    ///
    /// An entry that changes during the iteration may be missing or occur twice. It is marked as unwritten,
    /// so it is written again.
    func next(_ cursor: inout Cursor, maximum: Int) -> [IndexEntry] {
        var entries: [IndexEntry] = []
        while cursor.business < orders.count {
            let order = orders[cursor.business]
            var place = order.place(cursor.after ?? Self.first, in: pages)
            while entries.count < maximum, let slot = order.next(&place) {
                let entry = pages[slot]
                if entry.position != cursor.after { entries.append(entry) }
            }
            if entries.count == maximum {
                cursor.after = entries.last?.position
                return entries
            }
            cursor = Cursor(business: cursor.business + 1, after: nil)
            if !entries.isEmpty { return entries }
        }
        return entries
    }

    private static var first: IndexEntry.Position {
        IndexEntry.Position(milliseconds: .min, digest: ConversationDigest(0, 0, 0, 0))
    }
}

extension IndexEntry {
    fileprivate init(_ line: ConversationIndex.Line, _ digest: ConversationDigest, business: UInt16) {
        self.init(
            digest, business: business, at: line.at.milliseconds, lines: UInt32(clamping: line.sequence),
            kindNumber: Self.number(of: line.kind), isOutbound: line.isOutbound,
            oldestDay: line.oldestDay ?? Self.day(of: line.at))
    }
}

extension ConversationIndex.Filter {
    /// Returns whether an entry meets the filter, apart from the conditions on its time.
    func wants(_ entry: IndexEntry) -> Bool {
        (kind == nil || kind == entry.kind) && (excluded.isEmpty || !excluded.contains(entry.digest.first))
    }
}
