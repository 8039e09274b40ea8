/// Content that is made piece by piece while it is sent.
package struct ContentSource: Sendable {
    /// Makes the next piece, of 1 to the given number of bytes.
    package typealias Reader = (_ maximumBytes: Int) throws -> [UInt8]

    /// How many bytes all pieces have.
    package let sizeBytes: Int
    package let open: @Sendable () throws -> Reader

    /// Content of `sizeBytes`; `open` begins it anew for each request, and is called where its reader is, on the
    /// transport's queue, which waits for both.
    package init(sizeBytes: Int, open: @escaping @Sendable () throws -> Reader) {
        self.sizeBytes = sizeBytes
        self.open = open
    }
}

/// What takes the content of a response piece by piece.
package struct ContentSink: Sendable {
    /// Takes the next piece.
    package typealias Writer = (_ piece: inout [UInt8]) throws -> Void

    package let open: @Sendable () throws -> Writer

    /// A sink; `open` begins anew for each response that has content, and is called where its writer is, on the
    /// transport's queue, which waits for both.
    package init(open: @escaping @Sendable () throws -> Writer) { self.open = open }
}
