/// What a request proves its sender by, where the peer asks for a certificate (mutual TLS).
///
/// The files are read when a connection is made; connections are not shared between certificates.
package struct ClientCertificate: Sendable, Equatable {
    /// A PEM file with the certificate, and with those that lead to its root behind it.
    package var certificateFile: String
    /// A PEM file with the private key, which has no passphrase; may be the same file.
    package var keyFile: String

    /// Names both files.
    package init(certificateFile: String, keyFile: String) {
        self.certificateFile = certificateFile
        self.keyFile = keyFile
    }
}
