/// A TLS failure.
package enum TLSError: Error, Sendable, Hashable {
    /// The certificate and key files are unreadable or do not match; the reason is OpenSSL's. Correct the
    /// files.
    case badCredentials(reason: String)
    /// The peer uses no TLS, or an unsupported version or cipher; an alert was sent where possible. Close the
    /// connection.
    case protocolFailure
    /// Memory ran out. Close the connection.
    case outOfMemory
}

extension TLSError: CustomStringConvertible {
    /// The failure, in OpenSSL's words where available.
    package var description: String {
        switch self {
        case .badCredentials(let reason): reason
        case .protocolFailure: "the peer uses no TLS, or unsupported parameters"
        case .outOfMemory: "out of memory"
        }
    }
}
