/// One request on one connection of a shard.
struct ExchangeID: Sendable, Hashable {
    let connection: UInt64
    let number: UInt32
}

/// What is known of the request in flight once its header is whole.
struct Exchange {
    /// Nil when no route serves it.
    var route: ShardRoute?
    /// The answer has no body (RFC 9110 §9.3.2).
    let isHeadRequest: Bool
    let minorVersion: UInt8
    /// Whether another request may follow on the connection.
    var isPersistent: Bool
    /// The route's `admit` has admitted it.
    var isAdmitted = false
    /// The body of a route that pulls it.
    var pull: PulledBody?
}

/// A request whose chunked body is not whole: its header's bytes, and what has come of the body.
final class ChunkedRequest {
    let head: [UInt8]
    var body: [UInt8] = []
    var decoder = ChunkedDecoder()

    init(head: ArraySlice<UInt8>) { self.head = Array(head) }
}

/// An answer that is written piece by piece.
final class StreamedAnswer {
    /// Whether the pieces are chunks.
    let isChunked: Bool
    /// The handler, while it waits for the client to take bytes.
    var writer: CheckedContinuation<Void, any Error>?

    init(isChunked: Bool) { self.isChunked = isChunked }

    /// Resumes the handler that waits; with an error when the client left.
    func resumeWriter(throwing error: HTTPStreamError? = nil) {
        guard let writer else { return }
        self.writer = nil
        if let error { writer.resume(throwing: error) } else { writer.resume() }
    }
}
