/// What one listener takes from its clients: every length, count and wait has a bound.
package struct HTTPLimits: Sendable, Equatable {
    /// Bytes of the request line, without its end; over it 414.
    package var maximumRequestLineBytes = 8192
    /// Bytes of one field line, without its end; over it 431.
    package var maximumFieldLineBytes = 16384
    /// Field lines of one request; over it 431.
    package var maximumFieldCount = 100
    /// Bytes of all field lines of one request; over it 431.
    package var maximumHeaderBytes = 65536
    /// Requests on one connection; the last one's answer says `Connection: close`.
    package var maximumRequestsPerConnection = 1_000_000
    /// Connections of the listener; over it no more are accepted until one closes.
    package var maximumConnections = 65536
    /// Connections of the listener from one address, or from one /64 network; over it they are closed at once.
    ///
    /// Nil, for any number, is right behind a proxy; a listener that faces the internet should have one.
    package var maximumConnectionsPerPeer: Int?
    /// Bytes that all connections of the listener together may hold of requests that are not whole and of answers that
    /// wait; over it 503 for a request that holds more than ``freeBytesPerConnection`` and grows.
    ///
    /// What comes whole with one read is never held, so small requests are served however full it is. Headers, pipelined
    /// requests and answers have half of it, the bodies of admitted requests all. TLS sessions are not counted here.
    package var maximumBufferedBytes = 32 << 20
    /// The same for the connections of one address, or of one /64 network; nil is any number.
    ///
    /// Never counts loopback addresses and unix sockets, where a proxy is every client at once.
    package var maximumBufferedBytesPerPeer: Int?
    /// Bytes of answers that wait for a slow reader before its next pipelined request is looked at.
    package var maximumPendingOutputBytes = 65536

    /// From the connection to its first byte.
    package var firstByteTimeout = Duration.seconds(30)
    /// From the first byte of a request to the end of its header; over it 408.
    package var headTimeout = Duration.seconds(30)
    /// From the end of the header to the end of the body, or to the next piece that a pulled body waits for; over it 408.
    package var bodyTimeout = Duration.seconds(60)
    /// The rate that a collected body must keep on average, after ``bodyGrace``; under it 408.
    package var minimumBodyBytesPerSecond = 500
    /// How long a body may take before its rate counts.
    package var bodyGrace = Duration.seconds(10)
    /// From the first byte of a request to the last one of its body; over it 408.
    package var requestTimeout = Duration.seconds(300)
    /// Between two requests on one connection.
    package var idleTimeout = Duration.seconds(75)
    /// From the whole request to its answer; over it 503.
    package var answerTimeout = Duration.seconds(60)
    /// Without a byte taken by a client that has an answer waiting.
    package var writeTimeout = Duration.seconds(30)
    /// After a refusal, for the client to read it, before the connection is closed.
    package var lingerTimeout = Duration.seconds(2)

    /// What a connection may hold in any case: memory is bounded by this for each connection and
    /// ``maximumBufferedBytes``.
    package static let freeBytesPerConnection = 4096

    /// The defaults.
    package init() {}
}
