extension StringProtocol {
    /// The text without surrounding white space.
    package var trimmed: SubSequence {
        guard let start = firstIndex(where: { !$0.isWhitespace }),
            let end = lastIndex(where: { !$0.isWhitespace })
        else { return self[endIndex...] }
        return self[start...end]
    }
}

extension String {
    /// Whether two texts have the same UTF-8 bytes; `==` would also accept canonically equivalent texts.
    ///
    /// For ASCII texts the fast `==` alone decides. Speed matters here, because every lookup of a
    /// conversation compares identifiers.
    func hasSameBytes(as other: String) -> Bool {
        guard utf8.count == other.utf8.count, self == other else { return false }
        return utf8Span.isKnownASCII || utf8.elementsEqual(other.utf8)
    }
}
