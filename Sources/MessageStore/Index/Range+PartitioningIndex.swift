extension Range<Int> {
    /// Returns the first number for which the condition is true, by binary search; the upper bound when there is none.
    ///
    /// The condition must be false for all numbers before that one, and true for it and all later ones.
    func partitioningIndex(where isInSecondPart: (Int) -> Bool) -> Int {
        var (low, high) = (lowerBound, upperBound)
        while low < high {
            let middle = low + (high - low) / 2
            if isInSecondPart(middle) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
