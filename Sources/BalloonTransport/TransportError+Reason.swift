extension TransportError {
    /// The failure in words.
    package var reason: String {
        switch self {
        case .requestInvalid: "the address or a header is malformed"
        case .schemeRefused: "the address is neither https nor http"
        case .hostUnresolved: "the host has no address"
        case .connectionFailed: "the connection was refused"
        case .addressRefused: "the host has no public address"
        case .contentFailed: "the file could not be read or written"
        case .tlsFailed(let code): "TLS failed (\(code))"
        case .certificateRefused: "the server's certificate is not valid for its name"
        case .timedOut: "the request timed out"
        case .interrupted(let code): "the connection was interrupted (\(code))"
        case .responseTooLarge(let maximumBytes): "the answer has more than \(maximumBytes) bytes"
        case .cancelled: "cancelled"
        case .failed(let code): "the request failed (\(code))"
        }
    }
}
