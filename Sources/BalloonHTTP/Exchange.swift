/// One request on one connection of a shard.
struct ExchangeID: Sendable, Hashable {
    let connection: UInt64
    let number: UInt32
}

/// The data of the current request, from the end of its header to the end of its answer.
struct Exchange {
    /// The route that serves the path; nil when no route does.
    var route: ShardRoute?
    /// Whether the method is HEAD, so that the answer has no body (RFC 9110 §9.3.2).
    let isHeadRequest: Bool
    let minorVersion: UInt8
    /// Whether another request may follow on the connection.
    var isPersistent: Bool
    /// The mark with which the route's `admit` admitted the request.
    var admission: UInt64?
    /// The body when the route's handler reads it in pieces; nil for other routes.
    var pull: PulledBody?
}

/// A request with an incomplete chunked body: the bytes of its header, and the body so far.
final class ChunkedRequest {
    let head: [UInt8]
    var body: [UInt8] = []
    var decoder = ChunkedDecoder()

    init(head: ArraySlice<UInt8>) { self.head = Array(head) }
}

/// An answer that is written in pieces.
final class StreamedAnswer {
    /// Whether the pieces are sent as chunks.
    let isChunked: Bool
    /// Whether the answer ends when a stop of the server begins.
    var isOpenEnded: Bool
    /// The audience that the answer belongs to; nil when the answer is not subscribed to a broadcast.
    var audience: BroadcastAudience?
    /// The handler that waits until the client has read enough for the next piece; nil when none waits.
    var writer: CheckedContinuation<Void, any Error>?

    init(isChunked: Bool, isOpenEnded: Bool) {
        self.isChunked = isChunked
        self.isOpenEnded = isOpenEnded
    }

    /// Resumes the waiting handler; with an error when the client disconnected.
    func resumeWriter(throwing error: HTTPStreamError? = nil) {
        guard let writer else { return }
        self.writer = nil
        if let error { writer.resume(throwing: error) } else { writer.resume() }
    }
}
