/// The way to answer one request later, from any thread; a second answer is ignored, as is one to a client that left.
package struct HTTPResponder: Sendable {
    let shard: Shard
    let exchange: ExchangeID

    /// Sends the answer.
    package func respond(_ response: HTTPResponse) {
        shard.post(.answer(exchange, response))
    }

    /// Closes the connection without an answer, or in the middle of one that was begun.
    package func abort() { shard.post(.abort(exchange)) }

    /// Starts an answer whose body is written piece by piece.
    package func stream(_ head: HTTPStreamHead) -> HTTPBodyWriter {
        shard.post(.streamHead(exchange, head))
        return HTTPBodyWriter(shard: shard, exchange: exchange)
    }
}

/// Writes the body of a streamed answer; without a length HTTP/1.1 clients get chunks, HTTP/1.0 clients the end of the
/// connection.
package struct HTTPBodyWriter: Sendable {
    let shard: Shard
    let exchange: ExchangeID

    /// Sends `bytes` and returns when the client has taken enough for more to be written.
    ///
    /// Throws ``HTTPStreamError/disconnected`` when the client left or took nothing for the listener's write timeout.
    package func write(_ bytes: [UInt8]) async throws {
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            shard.post(.chunk(exchange, bytes, continuation))
        }
    }

    /// Ends the body.
    package func finish() { shard.post(.streamEnd(exchange)) }
}

/// Reads the body of a request whose route pulls it; the client is held back while nobody reads.
package struct HTTPBodyReader: Sendable {
    let shard: Shard
    let exchange: ExchangeID

    /// The next piece, nil at the body's end; one call at a time.
    ///
    /// Throws ``HTTPStreamError`` when the body is too large, malformed, or its sender left.
    package func next() async throws -> [UInt8]? {
        try await withCheckedThrowingContinuation { shard.post(.pull(exchange, $0)) }
    }
}

/// Why a body cannot be written or read to its end.
package enum HTTPStreamError: Error, Sendable, Hashable {
    /// The peer left, or was too slow for its limits; nothing more can be done for this request.
    case disconnected
    /// The body is malformed or larger than the route takes; the client has been told.
    case refused(HTTPRefusal)
}
