/// A TLS failure.
package enum TLSError: Error, Sendable, Hashable {
    /// The certificate and key files are unreadable or do not match; correct the files.
    ///
    /// The reason is OpenSSL's text.
    case badCredentials(reason: String)
    /// The peer does not use TLS, or only an unsupported version or cipher; close the connection.
    ///
    /// If OpenSSL has an alert for the peer, ``TLSSession/takeReplies(into:)`` returns it.
    case protocolFailure
    /// OpenSSL could not allocate memory; close the connection.
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
