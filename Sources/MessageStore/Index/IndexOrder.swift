/// The slots of an index in the order of their entries, earliest first, split into pieces of limited size.
///
/// Appending the latest entry needs no search. Any other change moves the elements of at most one piece of 4
/// KiB.
struct IndexOrder: Sendable {
    private struct Piece: Sendable {
        var slots: [UInt32]
        /// The time of the piece's first entry, with which most searches need not read that entry.
        var first: Int64
    }

    /// A place between two entries; it is valid until the order changes.
    struct Place: Sendable {
        fileprivate var piece: Int
        /// The number of slots of the piece before the place.
        fileprivate var offset: Int
    }

    private var pieces: [Piece] = []
    private static let maximumSlots = 1024

    /// The end: after the latest entry.
    var end: Place { Place(piece: pieces.count - 1, offset: pieces.last?.slots.count ?? 0) }

    /// Returns the place directly before the first entry that is not before this position.
    func place(_ position: IndexEntry.Position, in pages: IndexPages) -> Place {
        // Find the last piece whose first entry is before the position.
        let piece = pieces.indices.partitioningIndex { !isBefore($0, position, pages) } - 1
        guard piece >= 0 else { return Place(piece: pieces.isEmpty ? -1 : 0, offset: 0) }
        let slots = pieces[piece].slots
        let offset = (1..<slots.count).partitioningIndex { pages[slots[$0]].position >= position }
        return Place(piece: piece, offset: offset)
    }

    private func isBefore(_ piece: Int, _ position: IndexEntry.Position, _ pages: IndexPages) -> Bool {
        let first = pieces[piece].first
        if first != position.milliseconds { return first < position.milliseconds }
        return pages[pieces[piece].slots[0]].position < position
    }

    /// Returns the slot before a place, and moves the place before that slot; nil at the start.
    func previous(_ place: inout Place) -> UInt32? {
        while place.piece >= 0 {
            if place.offset > 0 {
                place.offset -= 1
                return pieces[place.piece].slots[place.offset]
            }
            place.piece -= 1
            if place.piece >= 0 { place.offset = pieces[place.piece].slots.count }
        }
        return nil
    }

    /// Returns the slot after a place, and moves the place after that slot; nil at the end.
    func next(_ place: inout Place) -> UInt32? {
        if place.piece < 0 { place = Place(piece: 0, offset: 0) }
        while place.piece < pieces.count {
            if place.offset < pieces[place.piece].slots.count {
                place.offset += 1
                return pieces[place.piece].slots[place.offset - 1]
            }
            place = Place(piece: place.piece + 1, offset: 0)
        }
        return nil
    }

    /// Adds the slot of an entry.
    mutating func insert(_ slot: UInt32, in pages: IndexPages) {
        let entry = pages[slot]
        guard let last = pieces.last?.slots.last else {
            return pieces.append(Piece(slots: [slot], first: entry.milliseconds))
        }
        guard entry.position < pages[last].position else {
            // When the last piece is full, begin a new one instead of splitting it, because most new entries
            // are the latest.
            if pieces[pieces.count - 1].slots.count < Self.maximumSlots {
                return pieces[pieces.count - 1].slots.append(slot)
            }
            var slots = [slot]
            slots.reserveCapacity(Self.maximumSlots)
            return pieces.append(Piece(slots: slots, first: entry.milliseconds))
        }
        let place = place(entry.position, in: pages)
        pieces[place.piece].slots.insert(slot, at: place.offset)
        if place.offset == 0 { pieces[place.piece].first = entry.milliseconds }
        if pieces[place.piece].slots.count > Self.maximumSlots { split(place.piece, pages) }
    }

    private mutating func split(_ piece: Int, _ pages: IndexPages) {
        let slots = pieces[piece].slots
        let half = slots.count / 2
        // Copy both halves to new arrays, because an array keeps its capacity when elements are removed.
        pieces[piece].slots = Array(slots[..<half])
        pieces.insert(
            Piece(slots: Array(slots[half...]), first: pages[slots[half]].milliseconds), at: piece + 1)
    }

    /// Removes the slot of an entry; the entry in `pages` must be unchanged since the insertion.
    mutating func remove(_ slot: UInt32, in pages: IndexPages) {
        let place = place(pages[slot].position, in: pages)
        guard let found = found(slot, place) else { return }
        pieces[found.piece].slots.remove(at: found.offset)
        guard let first = pieces[found.piece].slots.first else {
            pieces.remove(at: found.piece)
            return
        }
        if found.offset == 0 { pieces[found.piece].first = pages[first].milliseconds }
        merge(found.piece)
    }

    private func found(_ slot: UInt32, _ place: Place) -> Place? {
        var found = place
        guard next(&found) == slot else { return nil }
        found.offset -= 1
        return found
    }

    /// Joins a piece with the next one when both are small, so that removals do not leave many small pieces.
    private mutating func merge(_ piece: Int) {
        guard piece + 1 < pieces.count,
            pieces[piece].slots.count + pieces[piece + 1].slots.count < Self.maximumSlots / 2
        else { return }
        pieces[piece].slots = pieces[piece].slots + pieces[piece + 1].slots
        pieces.remove(at: piece + 1)
    }
}
