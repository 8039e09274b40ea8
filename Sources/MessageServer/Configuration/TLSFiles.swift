import BalloonTLS

/// The PEM files of a TLS listener.
package struct TLSFiles: Sendable, Equatable {
    /// The path of the certificate, followed by its chain.
    package var certificateFile: String
    /// The path of its private key, without a password.
    package var keyFile: String

    /// The expiry of the certificate, in seconds since 1970; nil when the files are unusable.
    package var expirySecondsSince1970: Int? {
        (try? TLSCredentials(certificateFile: certificateFile, keyFile: keyFile))?.expirySecondsSince1970
    }

    /// Reads both files; throws ``ConfigurationError`` when one cannot be read or they do not match.
    func credentials() throws(ConfigurationError) -> TLSCredentials {
        do {
            return try TLSCredentials(certificateFile: certificateFile, keyFile: keyFile)
        } catch {
            throw .problems([Self.problem(error, at: .file(certificateFile))])
        }
    }

    static func problem(_ error: TLSError, at place: ConfigurationPlace) -> ConfigurationProblem {
        ConfigurationProblem(
            at: place, "is not a certificate for the configured key: \(error)",
            hint:
                "name a PEM file with the certificate and its chain, and one with its key, without a password"
        )
    }
}
