/// Content that is produced in pieces while it is sent.
package struct ContentSource: Sendable {
    /// Produces the next piece, of 1 to the given number of bytes.
    package typealias Reader = (_ maximumBytes: Int) throws -> [UInt8]

    /// The total number of bytes.
    package let sizeBytes: Int
    package let open: @Sendable () throws -> Reader

    /// Content of `sizeBytes`.
    ///
    /// `open` restarts it for each request. It is called on the transport's queue, like its reader, and the
    /// queue waits for both.
    package init(sizeBytes: Int, open: @escaping @Sendable () throws -> Reader) {
        self.sizeBytes = sizeBytes
        self.open = open
    }
}

/// Consumes the content of a response in pieces.
package struct ContentSink: Sendable {
    /// Consumes the next piece.
    package typealias Writer = (_ piece: inout [UInt8]) throws -> Void

    package let open: @Sendable () throws -> Writer

    /// A sink.
    ///
    /// `open` restarts it for each response with content. It is called on the transport's queue, like its
    /// writer, and the queue waits for both.
    package init(open: @escaping @Sendable () throws -> Writer) { self.open = open }
}
