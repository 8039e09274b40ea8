extension Dictionary {
    /// Releases the memory of removed elements, which a dictionary keeps, when few elements are left after many.
    ///
    /// A dictionary doubles its capacity when it is full, so at least seven elements were removed for each one that is copied.
    mutating func shrink() {
        guard capacity > 4096, count < capacity / 16 else { return }
        self = Dictionary(uniqueKeysWithValues: lazy.map { ($0, $1) })
    }
}
