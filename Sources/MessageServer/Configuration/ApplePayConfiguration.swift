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
        /// `/pay/SLUG/…`: the request is found by its random identifier, which is then a secret.
        case constant
        /// `/pay/TOKEN/…` with a random token for each request.
        case perRequest
    }

    /// The merchant at Apple's service for merchant sessions.
    package var merchant: MerchantIdentity
    /// The bytes of `domainAssociationFile`, which Apple reads to verify the domain.
    package var domainAssociation: [UInt8]?
    /// The address that a device opens that cannot pay, JSON: `fallbackURL`; nil for a page of this server.
    package var fallbackURL: String?
    /// The paths of the public endpoints.
    package var paths = Paths.constant
    /// The days for which attempts and sums are kept, JSON: `paymentRecordsDays`.
    package var recordsDays = 3650

    /// Creates a configuration with the default paths.
    package init(merchant: MerchantIdentity) { self.merchant = merchant }
}
