import BalloonJSON
internal import COpenSSL

/// An issuer that signs and encrypts payment tokens as Apple does, with the certificates of a simulation.
package struct PaymentTokenIssuer: Sendable {
    private let leaf: IssuedCertificate
    private let intermediate: IssuedCertificate
    /// The root that the tokens' chain leads to, as DER.
    package let root: [UInt8]

    /// Creates an issuer with a new certificate chain.
    ///
    /// The chain is valid from one hour before until one day after `seconds`, which count from 1970.
    package init(at seconds: Int) throws(WireError) {
        try self.init(at: seconds, purpose: EncryptedPaymentToken.purpose)
    }

    init(at seconds: Int, purpose: RootCertificate.Purpose) throws(WireError) {
        let validity = (seconds - 3600)...(seconds + 86_400)
        let root = try IssuedCertificate(
            .init(name: "Simulated Root CA - G3", key: .p384, isAuthority: true, validity: validity))
        let intermediate = try IssuedCertificate(
            .init(
                name: "Simulated Application Integration CA", key: .p256,
                extensionID: purpose.intermediate.isEmpty ? nil : purpose.intermediate, isAuthority: true,
                validity: validity), issuer: root)
        leaf = try IssuedCertificate(
            .init(
                name: "simulated-ecc-smp-broker-sign", key: .p256,
                extensionID: purpose.leaf.isEmpty ? nil : purpose.leaf, isAuthority: false, validity: validity
            ),
            issuer: intermediate)
        self.intermediate = intermediate
        self.root = root.der
    }

    /// Creates the value of `paymentData` for a merchant with this public key (SubjectPublicKeyInfo, DER).
    ///
    /// `plain` is the JSON that the merchant decrypts. If `merchantKey` is nil, the token is encrypted to a
    /// new key that is then discarded. Throws `WireError.paymentKeyRefused` unless the key is on P-256.
    package func paymentData(
        _ plain: [UInt8], to merchantKey: [UInt8]?, merchantIdentifier: String, signedAt seconds: Int,
        applicationData: [UInt8] = []
    ) throws(WireError) -> [UInt8] {
        let pair = try PaymentTokenKey(
            pem: SigningKey.newPEM(rsaBits: 0), merchantIdentifier: merchantIdentifier)
        var recipient = merchantKey ?? []
        if merchantKey == nil {
            recipient = try PaymentTokenKey(pem: SigningKey.newPEM(rsaBits: 0), merchantIdentifier: "")
                .publicKey
        }
        guard let key = pair.symmetricKey(with: recipient) else { throw .paymentKeyRefused }
        let nonce = [UInt8](repeating: 0, count: AES256GCM.nonceBytes)
        guard let data = AES256GCM.seal(plain, key: key, nonce: nonce) else { throw .sealedTokenRefused }
        let transactionID = Secret.random(byteCount: 32).bytes
        let signature = try sign(
            pair.publicKey + data + transactionID + applicationData, signedAt: seconds)
        return JSONWriter.object { writer in
            writer.field("version", "EC_v1")
            writer.field("data", Base64.encode(data))
            writer.field("signature", Base64.encode(signature))
            writer.object("header") { writer in
                writer.field("ephemeralPublicKey", Base64.encode(pair.publicKey))
                writer.field("publicKeyHash", Base64.encode(SHA256.hash(recipient)))
                writer.field("transactionId", Hex.encode(transactionID))
                if !applicationData.isEmpty {
                    writer.field("applicationData", Hex.encode(applicationData))
                }
            }
        }
    }

    private func sign(_ content: [UInt8], signedAt seconds: Int) throws(WireError) -> [UInt8] {
        var signature = [UInt8](repeating: 0, count: Int(BALLOON_PAYMENT_SIGNATURE_MAXIMUM_BYTES))
        var count = signature.count
        let pem = leaf.keyPEM.bytes
        // Sound: every pointer comes with the count of its array; `count` is a capacity and becomes the length.
        let status = unsafe leaf.der.withUnsafeBufferPointer { leaf in
            unsafe intermediate.der.withUnsafeBufferPointer { intermediate in
                unsafe balloon_sign_payment(
                    balloon_certificate(bytes: leaf.baseAddress, count: leaf.count), pem, pem.count,
                    balloon_certificate(bytes: intermediate.baseAddress, count: intermediate.count), content,
                    content.count, Int64(seconds), &signature, &count)
            }
        }
        guard status == 1 else { throw .signingKeyRefused }
        return Array(signature.prefix(count))
    }
}
