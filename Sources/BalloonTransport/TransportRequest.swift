/// An outbound HTTP request and the bounds on its answer.
package struct TransportRequest: Sendable {
    /// The method, `GET` unless said otherwise; case-sensitive (RFC 9110 §9.1).
    package var method: String

    /// An absolute `https` URL without user information, already percent-encoded.
    package var url: String

    /// The fields in the order in which they are sent; only `Host`, `Accept` and `Content-Length` are added.
    package var headers: [(name: String, value: String)]

    /// The content; empty for none, which `POST`, `PUT` and `PATCH` send as a length of zero.
    package var body: [UInt8]

    /// Content that is made while it is sent, instead of ``body``.
    package var source: ContentSource?

    /// Who takes the content of a response with 2xx piece by piece, so that it is not collected.
    package var sink: ContentSink?

    /// How long the whole exchange may take, the connection included.
    package var timeout: Duration

    /// How long finding the host, connecting and the TLS handshake may take together.
    package var connectTimeout: Duration

    /// How long the exchange may stand still, in whole seconds; nil for as long as all of it may take.
    ///
    /// The wait for the first byte of the answer counts too.
    package var stallTimeout: Duration?

    /// How many bytes of content the response may have.
    package var maximumResponseBytes: Int

    /// Whether an `http` URL is sent as well, past any proxy: for loopback addresses that the operator listed.
    package var allowsPlainHTTP: Bool

    /// Whether the host, once looked up, must be an address of the public internet: for every URL that others named.
    ///
    /// Where the environment names a proxy, all such requests go through it, and which addresses it reaches is its rule.
    package var needsPublicAddress: Bool

    /// The certificate to show to a peer that asks for one; none when nil.
    package var clientCertificate: ClientCertificate?

    /// A PEM file of the authorities that may have signed the peer's certificate, instead of the system's.
    package var authoritiesFile: String?

    /// The path of a unix socket to connect to, whatever the URL's host; with plain HTTP only.
    package var unixSocket: String?

    /// A request to `url`; the defaults are a `GET` over TLS, 30 seconds in all, 10 to connect, 1 MiB of response.
    package init(
        method: String = "GET", url: String, headers: [(name: String, value: String)] = [],
        body: [UInt8] = [],
        timeout: Duration = .seconds(30), connectTimeout: Duration = .seconds(10),
        maximumResponseBytes: Int = 1 << 20, allowsPlainHTTP: Bool = false,
        needsPublicAddress: Bool = false
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
    }
}
