/// Content that is produced in pieces while it is sent.
package struct ContentSource: Sendable {
    /// A closure that returns the next piece, which has at least one byte and at most `maximumBytes`.
    package typealias Reader = (_ maximumBytes: Int) throws -> [UInt8]

    /// The total number of bytes.
    package let sizeBytes: Int
    package let open: @Sendable () throws -> Reader

    /// Creates content of `sizeBytes`.
    ///
    /// `open` is called once for each request and returns a reader at the start of the content. The transport
    /// calls `open` and the reader on its queue, so all other transfers wait while they run.
    package init(sizeBytes: Int, open: @escaping @Sendable () throws -> Reader) {
        self.sizeBytes = sizeBytes
        self.open = open
    }
}

/// A consumer of the content of a response, piece by piece.
package struct ContentSink: Sendable {
    /// A closure that consumes the next piece, and may change it.
    package typealias Writer = (_ piece: inout [UInt8]) throws -> Void

    package let open: @Sendable () throws -> Writer

    /// Creates a sink.
    ///
    /// `open` is called once for each response with content and returns a new writer. The transport calls
    /// `open` and the writer on its queue, so all other transfers wait while they run.
    package init(open: @escaping @Sendable () throws -> Writer) { self.open = open }
}
