/// The candidate that is most similar to `text`; nil when none is similar.
///
/// Similar means that at most a third of the letters, but at least one, may differ; case is ignored.
func nearestSpelling(to text: String, among candidates: [String]) -> String? {
    let wanted = Array(text.lowercased().utf8)
    // A longer name is not a typing error, and the time of the comparison grows with the square of the length.
    guard wanted.count <= 100 else { return nil }
    let ranked = candidates.map { ($0, editDistance(wanted, Array($0.lowercased().utf8))) }
    guard let best = ranked.min(by: { $0.1 < $1.1 }), best.1 <= max(1, best.0.utf8.count / 3) else {
        return nil
    }
    return best.0
}

/// The number of insertions, deletions and replacements between two texts (Levenshtein distance).
private func editDistance(_ left: [UInt8], _ right: [UInt8]) -> Int {
    var row = Array(0...right.count)
    for (i, byte) in left.enumerated() {
        var diagonal = row[0]
        row[0] = i + 1
        for (j, other) in right.enumerated() {
            let replaced = diagonal + (byte == other ? 0 : 1)
            diagonal = row[j + 1]
            row[j + 1] = min(replaced, row[j] + 1, diagonal + 1)
        }
    }
    return row[right.count]
}
