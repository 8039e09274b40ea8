import BalloonWire

/// The merchant that asks Apple Pay for merchant sessions.
package struct MerchantIdentity: Sendable, Equatable {
    /// The address of Apple's service for merchant sessions.
    ///
    /// Merchants of mainland China set `https://cn-apple-pay-gateway.apple.com/…` instead.
    package static let sessionURL = "https://apple-pay-gateway.apple.com/paymentservices/paymentSession"

    /// The merchant identifier, such as `merchant.com.example.shop`.
    package var merchantIdentifier: String
    /// The domain that Apple has verified for the merchant, without a scheme.
    package var domainName: String
    /// The name that the payment sheet shows; at most 64 characters.
    package var displayName: String
    /// A PEM file with the merchant identity certificate.
    package var certificateFile: String
    /// A PEM file with the private key of the certificate, without a password.
    package var keyFile: String
    /// The address of the service for sessions.
    package var sessionURL = Self.sessionURL
    /// A PEM file with the certificate authorities of a simulated service; nil to trust the system's
    /// authorities.
    package var authoritiesFile: String?

    /// Creates an identity that gets its sessions from Apple's service.
    package init(
        merchantIdentifier: String, domainName: String, displayName: String, certificateFile: String,
        keyFile: String
    ) {
        self.merchantIdentifier = merchantIdentifier
        self.domainName = domainName
        self.displayName = displayName
        self.certificateFile = certificateFile
        self.keyFile = keyFile
    }

    /// The identifier that sessions and tokens contain: the SHA-256 of ``merchantIdentifier`` in hexadecimal.
    package var identifierHash: String { Hex.encode(SHA256.hash(Array(merchantIdentifier.utf8))) }
}
