/// A reason why a request brought no whole response; a `code` is libcurl's CURLcode.
package enum TransportError: Error, Equatable, Sendable {
    /// The method, the URL or a field cannot be sent as given: our fault, correct the caller or its configuration.
    case requestInvalid

    /// The URL's scheme is neither `https` nor, where allowed, `http`: correct the configuration.
    case schemeRefused

    /// The name of the host or of the proxy has no address now: check the name and the resolver; try again.
    case hostUnresolved

    /// Every address of the host is private, loopback, link-local or otherwise special: nothing was sent. Whoever named
    /// the URL wanted us to ask a machine near us; if that is right, list the literal address.
    case addressRefused

    /// Nobody accepted the connection, or the proxy did not: nothing was sent; try again.
    case connectionFailed

    /// The TLS handshake failed: nothing was sent; try again, then look at the peer's versions and ciphers.
    case tlsFailed(code: Int32)

    /// The peer's certificate does not prove its name: nothing was sent; check the URL, the clock and the CAs.
    case certificateRefused

    /// The response was not complete in time; the peer may have acted on the request. Try again.
    case timedOut

    /// The connection broke, or the response breaks HTTP; the peer may have acted on the request. Try again.
    case interrupted(code: Int32)

    /// The response has more than `maximumBytes` of content: it will not be smaller next time.
    case responseTooLarge(maximumBytes: Int)

    /// What was to be sent could not be read, or what came could not be kept: look at the disk, and at the log.
    case contentFailed

    /// The task that sent the request was cancelled; the peer may have acted on it.
    case cancelled

    /// libcurl failed for lack of memory or descriptors, or for no reason that has a case here: try again.
    case failed(code: Int32)

    /// Whether the same request may succeed later without anybody changing anything.
    package var isRetryable: Bool {
        switch self {
        case .hostUnresolved, .connectionFailed, .tlsFailed, .timedOut, .interrupted, .failed: true
        case .requestInvalid, .schemeRefused, .addressRefused, .certificateRefused, .responseTooLarge,
            .contentFailed, .cancelled:
            false
        }
    }
}
