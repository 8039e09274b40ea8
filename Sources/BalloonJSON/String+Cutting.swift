extension String {
    /// Returns the text, cut between two Unicode scalars to at most `maximum` bytes of UTF-8.
    ///
    /// Unlike `prefix(_:)`, which counts characters, this bounds memory: one character may have any number of
    /// combining marks.
    package func cut(toBytes maximum: Int) -> String {
        guard utf8.count > maximum else { return self }
        var end = utf8.index(startIndex, offsetBy: max(0, maximum))
        while end > startIndex, end.samePosition(in: unicodeScalars) == nil { end = utf8.index(before: end) }
        return String(self[..<end])
    }

    /// Returns the text, and an ellipsis in place of what exceeds `maximum` bytes of UTF-8.
    package func shortened(toBytes maximum: Int) -> String {
        utf8.count > maximum ? cut(toBytes: maximum) + "…" : self
    }
}
