/// The candidate that `text` most likely was meant to be; nil when none is near.
///
/// Near means that at most a third of the letters, and at least one, may be wrong; case does not count.
func nearestSpelling(to text: String, among candidates: [String]) -> String? {
    let wanted = Array(text.lowercased().utf8)
    // A key that long is no slip of the finger, and the comparison is quadratic.
    guard wanted.count <= 100 else { return nil }
    let ranked = candidates.map { ($0, editDistance(wanted, Array($0.lowercased().utf8))) }
    guard let best = ranked.min(by: { $0.1 < $1.1 }), best.1 <= max(1, best.0.utf8.count / 3) else {
        return nil
    }
    return best.0
}

/// How many bytes must be put in, taken out or replaced to turn one text into the other (Levenshtein's distance).
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
