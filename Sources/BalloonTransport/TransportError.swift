/// The reason why a request has no complete response; a `code` is libcurl's CURLcode.
package enum TransportError: Error, Equatable, Sendable {
    /// The method, the URL or a field cannot be sent: correct the caller or its configuration.
    case requestInvalid

    /// The URL's scheme is neither `https` nor, where allowed, `http`: correct the configuration.
    case schemeRefused

    /// The name of the host or of the proxy has no address now: check the name and the resolver; try again.
    case hostUnresolved

    /// Every address of the host is private, loopback, link-local or otherwise special: nothing was sent.
    ///
    /// The URL may be an attempt to reach our own network; if it is legitimate, list the literal address.
    case addressRefused

    /// The host or the proxy did not accept the connection: nothing was sent; try again.
    case connectionFailed

    /// The TLS handshake failed: nothing was sent; try again, then check the peer's versions and ciphers.
    case tlsFailed(code: Int32)

    /// The peer's certificate is not valid for its name: nothing was sent; check the URL, the clock and the
    /// CAs.
    case certificateRefused

    /// The response was not complete in time; the peer may have processed the request. Try again.
    case timedOut

    /// The connection was interrupted, or the response violates HTTP; the peer may have processed the
    /// request. Try again.
    case interrupted(code: Int32)

    /// The response exceeds `maximumBytes` of content; a retry does not help.
    case responseTooLarge(maximumBytes: Int)

    /// The content could not be read, or the response could not be stored: check the disk and the log.
    case contentFailed

    /// The sending task was cancelled; the peer may have processed the request.
    case cancelled

    /// libcurl failed for lack of memory or descriptors, or with a code that no other case covers: try again.
    case failed(code: Int32)

    /// Whether nothing of the request was sent, so that the peer has not processed it.
    package var isUnsent: Bool {
        switch self {
        case .requestInvalid, .schemeRefused, .hostUnresolved, .addressRefused, .connectionFailed,
            .tlsFailed, .certificateRefused:
            true
        case .timedOut, .interrupted, .responseTooLarge, .contentFailed, .cancelled, .failed: false
        }
    }

    /// Whether the same request may succeed later without any change.
    package var isRetryable: Bool {
        switch self {
        case .hostUnresolved, .connectionFailed, .tlsFailed, .timedOut, .interrupted, .failed: true
        case .requestInvalid, .schemeRefused, .addressRefused, .certificateRefused, .responseTooLarge,
            .contentFailed, .cancelled:
            false
        }
    }
}
