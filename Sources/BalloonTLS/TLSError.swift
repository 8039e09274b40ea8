/// Why TLS cannot be spoken.
package enum TLSError: Error, Sendable, Hashable {
    /// The certificate and key files cannot be read, or do not belong together; OpenSSL's words. The operator's to mend.
    case badCredentials(reason: String)
    /// The peer does not speak TLS, or not as we do; it has been told if it can be. Close the connection.
    case protocolFailure
    /// Memory ran out. Close the connection.
    case outOfMemory
}

extension TLSError: CustomStringConvertible {
    /// What happened, in OpenSSL's words where it has some.
    package var description: String {
        switch self {
        case .badCredentials(let reason): reason
        case .protocolFailure: "the peer does not speak TLS as we do"
        case .outOfMemory: "out of memory"
        }
    }
}
