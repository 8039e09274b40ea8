/// The way to answer one request after its handler has returned, from any thread.
///
/// A second answer, or an answer to a disconnected client, is ignored.
package struct HTTPResponder: Sendable {
    let shard: Shard
    let exchange: ExchangeID

    /// Sends the answer.
    ///
    /// `then` is called on the shard's queue, or at once when the shard has ended, and must not block.
    package func respond(
        _ response: HTTPResponse, then: (@Sendable (HTTPDelivery) -> Void)? = nil
    ) {
        shard.post(.answer(exchange, response, then))
    }

    /// Closes the connection without an answer, or in the middle of a streamed one.
    package func abort() { shard.post(.abort(exchange)) }

    /// Starts an answer whose body is written in pieces.
    ///
    /// The answer to HEAD ends with its header; the first piece written to it throws
    /// ``HTTPStreamError/disconnected``.
    package func stream(_ head: HTTPStreamHead) -> HTTPBodyWriter {
        shard.post(.streamHead(exchange, head))
        return HTTPBodyWriter(shard: shard, exchange: exchange)
    }
}

/// The knowledge of the server about the delivery of an answer.
package enum HTTPDelivery: Sendable, Hashable {
    /// The socket has accepted the complete answer, and the client had not closed its sending side before.
    case sent
    /// The client had already disconnected, so that it certainly got no answer.
    case unsent
    /// The client had closed its sending side, or does not read.
    ///
    /// A client that has disconnected sends the same end of input as one that still reads (RFC 9112 §9.6).
    case unknown
}

/// A writer of the body of a streamed answer.
///
/// Without a known length, an HTTP/1.1 client gets chunks. An HTTP/1.0 client knows no chunks, so the
/// connection closes at the end of the body.
package struct HTTPBodyWriter: Sendable {
    let shard: Shard
    let exchange: ExchangeID

    /// Sends `bytes` and returns when the client has read enough for the next piece.
    ///
    /// Throws ``HTTPStreamError/disconnected`` when the client disconnected, or read nothing for the
    /// listener's write timeout.
    package func write(_ bytes: [UInt8]) async throws {
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            shard.post(.chunk(exchange, bytes, continuation))
        }
    }

    /// Adds the batches of `broadcast` to the body; the answer becomes open-ended.
    ///
    /// Batches sent after this call follow the pieces written before it. An answer subscribes to one
    /// broadcast at most, and ends with the broadcast; if that is finished already, the answer ends at once.
    package func subscribe(to broadcast: HTTPBroadcast) {
        if !broadcast.add(exchange, on: shard) { finish() }
    }

    /// Ends the body.
    ///
    /// The connection retains `retained` until the socket has accepted all of the body, or the connection has closed.
    package func finish(retaining retained: (any AnyObject & Sendable)? = nil) {
        shard.post(.streamEnd(exchange, retaining: retained))
    }
}

/// A reader of the body of a request, piece by piece, for a route that pulls it.
///
/// While the handler does not read, the server stops reading from the socket, which blocks the client.
package struct HTTPBodyReader: Sendable {
    let shard: Shard
    let exchange: ExchangeID

    /// Returns the next piece, or nil at the end of the body; only one call may wait at a time.
    ///
    /// Throws ``HTTPStreamError`` when the body is too large or malformed, or the client disconnected.
    package func next() async throws -> [UInt8]? {
        try await withCheckedThrowingContinuation { shard.post(.pull(exchange, $0)) }
    }
}

/// The reason why a body cannot be written or read completely.
package enum HTTPStreamError: Error, Sendable, Hashable {
    /// The peer disconnected or exceeded a time limit, or the answer has ended: nothing more can be read or
    /// written.
    case disconnected
    /// The request's body is malformed, exceeds the route's limit, or arrived too slowly.
    case refused(HTTPRefusal)
}
