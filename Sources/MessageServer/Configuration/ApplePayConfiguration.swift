package import BalloonWire
package import Payments

/// The merchant that takes a business's payments with Apple Pay, JSON: `applePay`.
///
/// ```json
/// {"merchantIdentifier": "merchant.com.example.fish", "domainName": "messages.example.com", "displayName": "Sam's Fish",
///  "certificateFile": "/run/secrets/merchant.pem", "keyFile": "/run/secrets/merchant-key.pem"}
/// ```
package struct ApplePayConfiguration: Sendable, Equatable {
    /// The paths of the public endpoints, JSON: `paths`.
    package enum Paths: String, Sendable, CaseIterable {
        /// `/pay/SLUG/…`: a call names the request by its random identifier, which must therefore stay
        /// secret.
        case constant
        /// `/pay/TOKEN/…` with a random token for each request.
        case perRequest
    }

    /// The merchant at Apple's service for merchant sessions.
    package var merchant: MerchantIdentity
    /// The bytes of `domainAssociationFile`, which Apple reads to verify the domain.
    package var domainAssociation: [UInt8]?
    /// The address that a device without Apple Pay opens, JSON: `fallbackURL`; nil for a page of this server.
    package var fallbackURL: String?
    /// The paths of the public endpoints.
    package var paths = Paths.constant
    /// The days for which attempts and sums are kept, JSON: `paymentRecordsDays`.
    package var recordsDays = 3650

    /// The keys that open payment tokens, JSON: `decrypt`; nil when tokens pass through unopened.
    package var decryption: Decryption?

    /// The keys of the merchant's payment processing certificates, and the root of Apple Pay's certificates.
    ///
    /// ```json
    /// {"keyFiles": ["processing-key.pem"], "certificateFiles": ["processing.pem"]}
    /// ```
    package struct Decryption: Sendable, Equatable {
        /// The private keys; each token names the key to which it was encrypted.
        package var keys: [PaymentTokenKey]
        /// The root certificate in which the chain of a token's signer must end, JSON: `rootFile`.
        package var root = RootCertificate.appleG3
        /// The paths of the keys.
        package var keyFiles: [String] = []

        /// Creates a decryption with Apple's root.
        package init(keys: [PaymentTokenKey]) { self.keys = keys }
    }

    /// Creates a configuration with the default paths.
    package init(merchant: MerchantIdentity) { self.merchant = merchant }
}
