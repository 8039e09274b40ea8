/// The limits of one listener: a bound for every length, count and wait.
package struct HTTPLimits: Sendable, Equatable {
    /// The maximum bytes of the request line, without its line end; a longer line gets 414.
    package var maximumRequestLineBytes = 8192
    /// The maximum bytes of one field line, without its line end; a longer line gets 431.
    package var maximumFieldLineBytes = 16384
    /// The maximum number of field lines of one request; more get 431.
    package var maximumFieldCount = 100
    /// The maximum bytes of all field lines of one request; more get 431.
    package var maximumHeaderBytes = 65536
    /// The maximum number of requests on one connection; the answer to the last says `Connection: close`.
    package var maximumRequestsPerConnection = 1_000_000
    /// The maximum number of connections of the listener; at the limit it accepts none until one closes.
    package var maximumConnections = 65536
    /// The maximum number of connections from one IPv4 address or one IPv6 /64 network; more are closed at
    /// once.
    ///
    /// Nil means no limit, for a listener behind a proxy. A listener that faces the internet should have a
    /// limit.
    package var maximumConnectionsPerPeer: Int?
    /// The maximum bytes of incomplete requests and pending answers that all connections of the listener hold
    /// together.
    ///
    /// Above this limit, a connection that holds more than ``freeBytesPerConnection`` and receives more bytes
    /// of its request gets 503.
    ///
    /// A request that arrives with one read holds no bytes, so small requests are always served. Headers,
    /// pipelined requests and answers may use half of the limit, bodies of admitted requests all of it. TLS
    /// sessions are not counted.
    package var maximumBufferedBytes = 32 << 20
    /// A limit like ``maximumBufferedBytes``, but for the connections of one IPv4 address or one IPv6 /64
    /// network; nil means no limit.
    ///
    /// Loopback addresses and unix sockets are never counted, because a local proxy carries all clients.
    package var maximumBufferedBytesPerPeer: Int?
    /// While more answer bytes than this are pending on a connection, its next pipelined request waits.
    package var maximumPendingOutputBytes = 65536

    /// The time from accepting a connection to the first byte of its first request.
    package var firstByteTimeout = Duration.seconds(30)
    /// The time from the first byte of a request to the end of its header; a slower request gets 408.
    package var headTimeout = Duration.seconds(30)
    /// The time from the end of the header to the end of a collected body; a slower request gets 408.
    ///
    /// For a pulled body it is the time that a waiting handler waits for the next piece.
    package var bodyTimeout = Duration.seconds(60)
    /// The minimum average rate of a collected body after ``bodyGrace``; a slower body gets 408.
    package var minimumBodyBytesPerSecond = 500
    /// The time before the minimum rate of a body applies.
    package var bodyGrace = Duration.seconds(10)
    /// The time from the first byte of a request to the last byte of its body; a slower request gets 408.
    package var requestTimeout = Duration.seconds(300)
    /// The time that a connection may be idle between two requests.
    package var idleTimeout = Duration.seconds(75)
    /// The time from the complete request to the handler's answer; a later answer is replaced by 503.
    package var answerTimeout = Duration.seconds(60)
    /// The time after which a connection closes when its client has read nothing of a pending answer.
    package var writeTimeout = Duration.seconds(30)
    /// The time that a connection stays open after its last answer, so that the client can read the answer.
    package var lingerTimeout = Duration.seconds(2)

    /// The bytes that each connection may hold even when ``maximumBufferedBytes`` is exceeded.
    ///
    /// The memory of a listener is at most this for each connection, plus ``maximumBufferedBytes``.
    package static let freeBytesPerConnection = 4096

    /// Uses the default values.
    package init() {}
}
