/// Sorts events that were read from the journal into the order in which they are sent.
enum EventOrder {
    /// Sorts events so that those with lines have the order of their file.
    ///
    /// `events` must be in the order of their records. An event waits for the events of earlier lines of its
    /// conversation. No event precedes its cause: the record of an earlier line was durable before that line
    /// was written, and so before the later line.
    static func sorted(_ events: [StoreEvent]) -> [StoreEvent] {
        var latest: [String: [Int: Int]] = [:]
        for (index, event) in events.enumerated() {
            if let sequence = event.sequence { latest[event.conversation, default: [:]][sequence] = index }
        }
        // Each line's event is sorted to an index that is not below those of all earlier lines of its file.
        var places: [String: [Int: Int]] = [:]
        for (conversation, lines) in latest {
            var place = 0
            var own: [Int: Int] = [:]
            for sequence in lines.keys.sorted() {
                place = max(place, lines[sequence] ?? 0)
                own[sequence] = place
            }
            places[conversation] = own
        }
        func place(_ index: Int) -> Int {
            guard let sequence = events[index].sequence else { return index }
            return places[events[index].conversation]?[sequence] ?? index
        }
        let order = events.indices.sorted { left, right in
            let (first, second) = (place(left), place(right))
            if first != second { return first < second }
            let (line, other) = (events[left].sequence ?? .max, events[right].sequence ?? .max)
            return line == other ? left < right : line < other
        }
        return order.map { events[$0] }
    }
}
