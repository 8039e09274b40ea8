package import BalloonPOSIX
package import BalloonTLS

/// A closure that returns the content of a refusal's answer, and may log the refusal.
///
/// The closure runs on a shard's queue, so it must not block.
package typealias RefusalDescription = @Sendable (HTTPRefusal) -> HTTPContent

/// The body of an answer with its media type.
package struct HTTPContent: Sendable, Hashable {
    /// The value of `Content-Type` (RFC 9110 §8.3).
    package let type: String
    /// The body.
    package let bytes: [UInt8]

    /// Creates the content of a media type.
    package init(type: String, bytes: [UInt8]) {
        self.type = type
        self.bytes = bytes
    }

    /// Creates plain text.
    package init(text: String) { self.init(type: "text/plain; charset=utf-8", bytes: Array(text.utf8)) }
}

/// One address with its routes, its limits, and the wording of its refusals.
package struct HTTPListener: Sendable {
    let address: SocketAddress
    let routes: [HTTPRoute]
    let limits: HTTPLimits
    let tls: TLSCredentials?
    let describeRefusal: RefusalDescription
    /// The descriptor of a socket that a service manager opened; nil to open one.
    let inherited: Int32?

    /// Creates a listener for a TCP address or a unix socket, which uses TLS when `tls` has credentials.
    ///
    /// `inherited` is the descriptor of a listening socket that a service manager opened; the listener then
    /// uses the address of this socket. When the server stops, new connections stay in the socket's queue for
    /// the next process.
    ///
    /// Without `describeRefusal` the body of a refusal is the reason phrase of its status, as plain text.
    package init(
        _ address: SocketAddress, routes: [HTTPRoute], limits: HTTPLimits = HTTPLimits(),
        tls: TLSCredentials? = nil, inherited: Int32? = nil,
        describeRefusal: @escaping RefusalDescription = { HTTPContent(text: "\($0.status.reason)\n") }
    ) {
        self.address = address
        self.routes = routes
        self.limits = limits
        self.tls = tls
        self.describeRefusal = describeRefusal
        self.inherited = inherited
    }
}
