/// An outbound HTTP request with limits for its response.
package struct TransportRequest: Sendable {
    /// The methods whose repetition has no further effect (RFC 9110 §9.2.2).
    private static let idempotentMethods: Set = ["GET", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE"]

    /// The method, `GET` by default; case-sensitive (RFC 9110 §9.1).
    package var method: String

    /// An absolute `https` URL without user information, already percent-encoded.
    package var url: String

    /// The fields in sending order; libcurl adds only `Host`, `Accept` and `Content-Length`.
    package var headers: [(name: String, value: String)]

    /// The content; for `POST`, `PUT` and `PATCH`, empty content is sent with `Content-Length: 0`.
    package var body: [UInt8]

    /// Content that is produced while it is sent, instead of ``body``.
    package var source: ContentSource?

    /// The consumer of the content of a 2xx response, whose ``TransportResponse/body`` then stays empty.
    package var sink: ContentSink?

    /// The time limit of the whole exchange, including the connection.
    package var timeout: Duration

    /// The time limit of name lookup, connection and TLS handshake together.
    package var connectTimeout: Duration

    /// The longest time without progress, in whole seconds; nil for no separate limit.
    ///
    /// The wait for the first byte of the answer counts as well.
    package var stallTimeout: Duration?

    /// The size limit of the response's content.
    package var maximumResponseBytes: Int

    /// Whether an `http` URL is allowed, which is then requested without a proxy.
    ///
    /// Plain HTTP is meant for loopback addresses that the operator listed.
    package var allowsPlainHTTP: Bool

    /// Whether the host must resolve to a public internet address: set it for every URL from outside.
    ///
    /// When the environment configures a proxy, all such requests use the proxy, and only the proxy decides
    /// which addresses it reaches.
    package var needsPublicAddress: Bool

    /// Whether the peer must not receive the request twice, as for a charge or the use of a one-time secret.
    ///
    /// libcurl repeats a request when a reused connection closes without an answer (RFC 9112 §9.3.1). A
    /// request that must happen once therefore gets a connection of its own, which costs a handshake. This is
    /// the default of every method that is not idempotent: set it to false for a `POST` whose repetition the
    /// peer recognizes, and to true for a `GET` that uses a secret up.
    package var mustHappenOnce: Bool

    /// The client certificate for a peer that asks for one; nil to send none.
    package var clientCertificate: ClientCertificate?

    /// A PEM file of certificate authorities that replaces the system's.
    package var authoritiesFile: String?

    /// The path of a unix socket to connect to instead of the URL's host; for plain HTTP only.
    package var unixSocket: String?

    /// Creates a request to `url`; by default `GET` over TLS.
    ///
    /// The default limits are 30 s in total, 10 s to connect, and 1 MiB of response. Without `mustHappenOnce`
    /// the method decides (RFC 9110 §9.2.2).
    package init(
        method: String = "GET", url: String, headers: [(name: String, value: String)] = [],
        body: [UInt8] = [],
        timeout: Duration = .seconds(30), connectTimeout: Duration = .seconds(10),
        maximumResponseBytes: Int = 1 << 20, allowsPlainHTTP: Bool = false,
        needsPublicAddress: Bool = false, mustHappenOnce: Bool? = nil
    ) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
        self.timeout = timeout
        self.connectTimeout = connectTimeout
        self.maximumResponseBytes = maximumResponseBytes
        self.allowsPlainHTTP = allowsPlainHTTP
        self.needsPublicAddress = needsPublicAddress
        self.mustHappenOnce = mustHappenOnce ?? !Self.idempotentMethods.contains(method)
    }
}
