/// The certificate that shows the peer the identity of this client (mutual TLS).
///
/// The files are read for each new connection. Requests with different certificates never share a connection.
package struct ClientCertificate: Sendable, Equatable {
    /// A PEM file with the certificate, followed by its intermediate certificates.
    package var certificateFile: String
    /// A PEM file with the private key, without a passphrase; may be the same file.
    package var keyFile: String

    /// Creates a client certificate from both files.
    package init(certificateFile: String, keyFile: String) {
        self.certificateFile = certificateFile
        self.keyFile = keyFile
    }
}
