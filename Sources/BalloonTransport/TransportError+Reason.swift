extension TransportError {
    /// What happened, for a person.
    package var reason: String {
        switch self {
        case .requestInvalid: "the address is not one"
        case .schemeRefused: "the address is neither https nor http"
        case .hostUnresolved: "the host has no address"
        case .connectionFailed: "nobody accepts the connection"
        case .addressRefused: "the host has no public address"
        case .contentFailed: "the file could not be read or written"
        case .tlsFailed(let code): "TLS failed (\(code))"
        case .certificateRefused: "the server's certificate does not prove its name"
        case .timedOut: "the answer took too long"
        case .interrupted(let code): "the connection broke (\(code))"
        case .responseTooLarge(let maximumBytes): "the answer has more than \(maximumBytes) bytes"
        case .cancelled: "cancelled"
        case .failed(let code): "the request failed (\(code))"
        }
    }
}
