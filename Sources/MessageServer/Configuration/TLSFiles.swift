import BalloonTLS

/// The PEM files with which a listener speaks TLS.
package struct TLSFiles: Sendable, Equatable {
    /// The path of the certificate, with the chain that leads to it behind it.
    package var certificateFile: String
    /// The path of its private key, without a password.
    package var keyFile: String

    /// Takes both paths.
    package init(certificateFile: String, keyFile: String) {
        self.certificateFile = certificateFile
        self.keyFile = keyFile
    }

    /// Reads both; throws ``ConfigurationError`` when they are no pair.
    func credentials() throws(ConfigurationError) -> TLSCredentials {
        do {
            return try TLSCredentials(certificateFile: certificateFile, keyFile: keyFile)
        } catch {
            throw .problems([Self.problem(error, at: .file(certificateFile))])
        }
    }

    static func problem(_ error: TLSError, at place: ConfigurationPlace) -> ConfigurationProblem {
        ConfigurationProblem(
            at: place, "is no certificate for the key beside it: \(error)",
            hint:
                "name a PEM file with the certificate and its chain, and one with its key, without a password"
        )
    }
}
