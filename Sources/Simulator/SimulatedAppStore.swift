import BalloonJSON
package import BalloonWire
package import RetentionMessages

/// A signer of retention questions, like the App Store, with its own root certificate.
///
/// The certificates have Apple's kinds of keys and extensions. A server accepts them only when ``root`` is
/// its configured root.
package struct SimulatedAppStore: Sendable {
    /// The root certificate as DER.
    package let root: [UInt8]
    private let signer: CertifiedTokenSigner

    /// Creates an App Store whose certificates are valid from a day before `now` until ten years after it.
    ///
    /// `now` is in seconds since 1970. Throws `WireError.signingKeyRefused` only when memory is exhausted.
    package init(at now: Int) throws(WireError) {
        let validity = (now - 86_400)...(now + 3650 * 86_400)
        let purpose = RootCertificate.Purpose.appStore
        let root = try IssuedCertificate(
            IssuedCertificate.Request(
                name: "Simulated App Store Root", key: .p384, isAuthority: true, validity: validity))
        let intermediate = try IssuedCertificate(
            IssuedCertificate.Request(
                name: "Simulated App Store Authority", key: .p384, extensionID: purpose.intermediate,
                isAuthority: true, validity: validity), issuer: root)
        let leaf = try IssuedCertificate(
            IssuedCertificate.Request(
                name: "Simulated App Store", key: .p256, extensionID: purpose.leaf, isAuthority: false,
                validity: validity), issuer: intermediate)
        self.root = root.der
        signer = try CertifiedTokenSigner(leaf: leaf, intermediate: intermediate, root: root)
    }

    /// The body of a question, `{"signedPayload": …}`.
    package func body(asking request: RetentionRequest) throws(WireError) -> [UInt8] {
        try body(claims: request.json)
    }

    /// The body of a question with any claims.
    package func body(claims: [UInt8]) throws(WireError) -> [UInt8] {
        let payload = try signer.sign(claims)
        return JSONWriter.object { $0.field("signedPayload", payload) }
    }
}
