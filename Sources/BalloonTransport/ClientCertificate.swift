/// The certificate that authenticates a request's sender to the peer (mutual TLS).
///
/// The files are read when a connection is made; connections are not shared between certificates.
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
