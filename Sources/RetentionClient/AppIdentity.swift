package import BalloonWire

/// An app at the App Store, with its in-app purchase key.
package struct AppIdentity: Sendable {
    /// The bundle identifier.
    package let bundleID: String
    /// The Apple ID of the app.
    package let appleID: Int
    /// The issuer of the key, a UUID, from App Store Connect.
    package let issuerID: String
    /// The identifier of the key, from App Store Connect.
    package let keyID: String
    /// The key, on P-256.
    package let key: SigningKey

    /// Creates an identity.
    package init(bundleID: String, appleID: Int, issuerID: String, keyID: String, key: SigningKey) {
        self.bundleID = bundleID
        self.appleID = appleID
        self.issuerID = issuerID
        self.keyID = keyID
        self.key = key
    }
}
