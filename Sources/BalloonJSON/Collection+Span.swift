extension Collection<UInt8> {
    /// Calls `body` with a span of the elements, without a copy for an array, a slice or a native string.
    ///
    /// The elements of other collections are first copied into an array.
    @inlinable package func withSpan<Result, Failure>(
        _ body: (Span<UInt8>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        var outcome: Swift.Result<Result, Failure>?
        withContiguousStorageIfAvailable { buffer in
            // Sound: the buffer lives until the closure returns, and no span escapes `body`.
            outcome = Swift.Result { () throws(Failure) in try body(unsafe buffer.span) }
        }
        if let outcome { return try outcome.get() }
        return try body(Array(self).span)
    }
}
