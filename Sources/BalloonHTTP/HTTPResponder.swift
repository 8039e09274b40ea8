/// Answers one request later, from any thread.
///
/// An answer after the first, or to a disconnected client, is ignored.
package struct HTTPResponder: Sendable {
    let shard: Shard
    let exchange: ExchangeID

    /// Sends the answer.
    ///
    /// `then` is called on the shard, or at once when the shard has ended: with false when the client has disconnected
    /// already, so that it certainly got no answer. It must not block.
    package func respond(_ response: HTTPResponse, then: (@Sendable (_ isSent: Bool) -> Void)? = nil) {
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

/// Writes the body of a streamed answer.
///
/// Without a length, an HTTP/1.1 client gets chunks; for an HTTP/1.0 client, the end of the connection ends
/// the body.
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
    /// The order of calls counts: a batch that is sent after this call follows the pieces that were written before
    /// it. An answer subscribes to one broadcast, until it ends; a finished broadcast ends it at once.
    package func subscribe(to broadcast: HTTPBroadcast) {
        guard let section = broadcast.add(shard) else { return finish() }
        shard.post(.subscribe(exchange, to: section))
    }

    /// Ends the body.
    package func finish() { shard.post(.streamEnd(exchange)) }
}

/// Reads the body of a request whose route pulls it; back-pressure stops the client while the handler does
/// not read.
package struct HTTPBodyReader: Sendable {
    let shard: Shard
    let exchange: ExchangeID

    /// The next piece, nil at the end of the body; one call at a time.
    ///
    /// Throws ``HTTPStreamError`` when the body is too large or malformed, or its sender disconnected.
    package func next() async throws -> [UInt8]? {
        try await withCheckedThrowingContinuation { shard.post(.pull(exchange, $0)) }
    }
}

/// The reason why a body cannot be written or read completely.
package enum HTTPStreamError: Error, Sendable, Hashable {
    /// The peer disconnected or exceeded a time limit, or the answer has ended: nothing more can be read or
    /// written.
    case disconnected
    /// The body is malformed or exceeds the route's limit; the client has got the refusal.
    case refused(HTTPRefusal)
}
