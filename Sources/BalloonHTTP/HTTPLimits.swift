/// The limits of one listener: a bound for every length, count and wait.
package struct HTTPLimits: Sendable, Equatable {
    /// Bytes of the request line, without its line end; a longer one gets 414.
    package var maximumRequestLineBytes = 8192
    /// Bytes of one field line, without its line end; a longer one gets 431.
    package var maximumFieldLineBytes = 16384
    /// Field lines of one request; more get 431.
    package var maximumFieldCount = 100
    /// Bytes of all field lines of one request; more get 431.
    package var maximumHeaderBytes = 65536
    /// Requests on one connection; the last one's answer says `Connection: close`.
    package var maximumRequestsPerConnection = 1_000_000
    /// Connections of the listener; at the limit, accepting pauses until one closes.
    package var maximumConnections = 65536
    /// Connections of the listener from one address, or from one /64 network; further ones are closed at
    /// once.
    ///
    /// Nil means no limit, which is right behind a proxy; a listener that faces the internet should have one.
    package var maximumConnectionsPerPeer: Int?
    /// Bytes that all connections of the listener together may hold of incomplete requests and pending
    /// answers.
    ///
    /// Over it, a request that holds more than ``freeBytesPerConnection`` and grows gets 503.
    ///
    /// A request that arrives with one read is never held, so small requests are always served. Headers,
    /// pipelined requests and answers may use half of the limit, bodies of admitted requests all of it. TLS
    /// sessions are not counted.
    package var maximumBufferedBytes = 32 << 20
    /// The same limit for the connections of one address, or of one /64 network; nil means no limit.
    ///
    /// Loopback addresses and unix sockets are never counted, because a local proxy carries all clients.
    package var maximumBufferedBytesPerPeer: Int?
    /// Pending answer bytes of a slow reader above which its next pipelined request waits.
    package var maximumPendingOutputBytes = 65536

    /// From the connection to its first byte.
    package var firstByteTimeout = Duration.seconds(30)
    /// From the first byte of a request to the end of its header; a longer time gets 408.
    package var headTimeout = Duration.seconds(30)
    /// From the end of the header to the end of the body, or to the next awaited piece of a pulled body; a
    /// longer time gets 408.
    package var bodyTimeout = Duration.seconds(60)
    /// The minimum average rate of a collected body after ``bodyGrace``; a slower body gets 408.
    package var minimumBodyBytesPerSecond = 500
    /// The time before the minimum rate of a body applies.
    package var bodyGrace = Duration.seconds(10)
    /// From the first byte of a request to the last byte of its body; a longer time gets 408.
    package var requestTimeout = Duration.seconds(300)
    /// Between two requests on one connection.
    package var idleTimeout = Duration.seconds(75)
    /// From the complete request to its answer; a longer time gets 503.
    package var answerTimeout = Duration.seconds(60)
    /// The time without progress of a client that has a pending answer.
    package var writeTimeout = Duration.seconds(30)
    /// After a refusal, so that the client can read it before the connection closes.
    package var lingerTimeout = Duration.seconds(2)

    /// The bytes that each connection may always hold: memory is bounded by this for each connection, plus
    /// ``maximumBufferedBytes``.
    package static let freeBytesPerConnection = 4096

    /// Uses the default values.
    package init() {}
}
