internal import COpenSSL

/// The private key of a merchant to which Apple encrypts payment tokens (payment processing key); never
/// printed.
package struct PaymentTokenKey: Sendable, Equatable {
    /// The public key: SubjectPublicKeyInfo in DER.
    package let publicKey: [UInt8]
    /// The SHA-256 of ``publicKey``, by which a token names the key that it was encrypted to.
    package let publicKeyHash: [UInt8]
    /// The SHA-256 of the merchant identifier.
    let merchant: [UInt8]
    private let pem: Secret

    /// Reads a private key on P-256 from PEM without a password, and compares it with its certificate in DER
    /// or PEM.
    ///
    /// Throws `WireError.paymentKeyRefused` when the key is of another kind or the certificate is for another
    /// key. Throws the same error when the certificate's extension 1.2.840.113635.100.6.32 does not name the
    /// merchant.
    package init(pem: Secret, certificate: [UInt8], merchantIdentifier: String) throws(WireError) {
        try self.init(pem: pem, merchantIdentifier: merchantIdentifier)
        var spki = [UInt8](repeating: 0, count: Int(BALLOON_P256_SPKI_BYTES))
        var named = [UInt8](repeating: 0, count: Int(BALLOON_MERCHANT_BYTES))
        // Sound: `certificate` comes with its count, and both buffers have the sizes that the call fills.
        guard !certificate.isEmpty,
            unsafe balloon_read_payment_certificate(certificate, certificate.count, &spki, &named) == 1,
            spki == publicKey,
            String(decoding: named, as: UTF8.self).lowercased() == Hex.encode(merchant)
        else { throw .paymentKeyRefused }
    }

    /// Reads a private key that has no certificate, as in a simulation.
    package init(pem: Secret, merchantIdentifier: String) throws(WireError) {
        var spki = [UInt8](repeating: 0, count: Int(BALLOON_P256_SPKI_BYTES))
        // Sound: the text comes with its count, and the buffer has the size that the call fills.
        guard pem.bytes.count <= SigningKey.maximumBytes,
            unsafe balloon_read_payment_key(pem.bytes, pem.bytes.count, &spki) == 1
        else { throw .paymentKeyRefused }
        self.pem = pem
        publicKey = spki
        publicKeyHash = SHA256.hash(spki)
        merchant = SHA256.hash(Array(merchantIdentifier.utf8))
    }

    /// Returns the AES key of a token whose ephemeral public key is `spki`; nil when that is not a key on
    /// P-256.
    ///
    /// Apple, "Restoring the symmetric key": the single step of NIST SP 800-56A with SHA-256.
    func symmetricKey(with spki: [UInt8]) -> [UInt8]? {
        var secret = [UInt8](repeating: 0, count: Int(BALLOON_P256_SECRET_BYTES))
        // Sound: both inputs come with their counts, and the call fills 32 bytes.
        guard !spki.isEmpty,
            unsafe balloon_agree_payment(pem.bytes, pem.bytes.count, spki, spki.count, &secret) == 1
        else { return nil }
        var input: [UInt8] = [0, 0, 0, 1]
        input += secret
        // The shared information: the algorithm's name preceded by its length, the sender, and the receiver.
        input.append(13)
        input += "id-aes256-GCM".utf8
        input += "Apple".utf8
        input += merchant
        return SHA256.hash(input)
    }
}
