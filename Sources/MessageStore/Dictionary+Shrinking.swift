extension Dictionary {
    /// Releases the memory of removed elements, which a dictionary keeps, when few elements are left after many.
    ///
    /// Each call that copies elements is paid for by at least fifteen removals for each copied element.
    mutating func shrink() {
        guard capacity > 4096, count < capacity / 16 else { return }
        self = Dictionary(uniqueKeysWithValues: lazy.map { ($0, $1) })
    }
}
