package import BalloonJSON
internal import COpenSSL

/// The reason why a payment token is refused: the first check that failed.
package enum PaymentTokenDefect: Error, Hashable, Sendable {
    /// The member with this name is missing, has another type, or is too long.
    case malformed(String)
    /// The version is not `EC_v1`; `RSA_v1`, which Apple uses in China, is not supported.
    case version
    /// The token was encrypted to a key that is not among the given ones.
    case unknownKey
    /// The signature is not one detached CMS message.
    case signatureMalformed
    /// The CMS message has no signer, several signers, or a signer that does not use SHA-256.
    case signer
    /// The signature does not match the content of this token.
    case signature
    /// The signature has no signing time.
    case noSigningTime
    /// The signer's certificate chain does not show that Apple Pay signed the token.
    case chain(CertificateDefect)
    /// The token was signed more than five minutes before or after now.
    case signingTime
    /// The hash of the application data differs from that of the request, so the token belongs to another
    /// request.
    case applicationData
    /// The encrypted part was changed, or encrypted for another merchant.
    case sealed
    /// The decrypted part has no currency or no amount.
    case content
}

/// An Apple Pay token of the version `EC_v1`: the value of `paymentData`.
///
/// ```json
/// {"version": "EC_v1", "data": "…", "signature": "MIAG…",
///  "header": {"ephemeralPublicKey": "MFkw…", "publicKeyHash": "…", "transactionId": "…", "applicationData": "…"}}
/// ```
/// Apple, "Payment token format reference".
package struct EncryptedPaymentToken: Sendable {
    /// The extensions that the certificates of Apple Pay's token signer must have.
    package static let purpose = RootCertificate.Purpose(
        leaf: "1.2.840.113635.100.6.29", intermediate: "1.2.840.113635.100.6.2.14")
    /// The maximum difference between the signing time and now, in seconds.
    package static let maximumSkewSeconds = 300
    private static let maximumTextBytes = 65_536

    /// Apple's identifier of the transaction, 32 bytes; the caller must accept each identifier only once.
    package let transactionID: [UInt8]
    /// The hash of the request's application data; empty when the token has none.
    package let applicationData: [UInt8]
    private let data: [UInt8]
    private let signature: [UInt8]
    private let ephemeralKey: [UInt8]
    private let publicKeyHash: [UInt8]

    /// Reads the value of `paymentData`; verifies nothing.
    package init(_ paymentData: JSONValue) throws(PaymentTokenDefect) {
        guard paymentData["version"]?.string == "EC_v1" else { throw .version }
        let header = paymentData["header"]
        data = try Self.base64(paymentData, "data")
        signature = try Self.base64(paymentData, "signature")
        ephemeralKey = try Self.base64(header, "ephemeralPublicKey")
        publicKeyHash = try Self.base64(header, "publicKeyHash")
        transactionID = try Self.hexadecimal(header, "transactionId")
        applicationData =
            header?["applicationData"] == nil ? [] : try Self.hexadecimal(header, "applicationData")
        guard data.count > AES256GCM.tagBytes else { throw .malformed("data") }
    }

    /// Verifies the signature and decrypts the token; takes 1 to 3 ms.
    ///
    /// At the signing time, the signer's chain must lead through one intermediate certificate to `root`. The
    /// signing time must be within five minutes of `now`, in seconds since 1970. `applicationData` is the
    /// hash of the request's application data; nil when the request had none.
    package func open(
        with keys: [PaymentTokenKey], root: RootCertificate, now: Int,
        applicationData expected: [UInt8]? = nil
    ) throws(PaymentTokenDefect) -> DecryptedPaymentToken {
        try verifySignature(root: root, now: now)
        guard applicationData == expected ?? [] else { throw .applicationData }
        return try decrypt(with: keys)
    }

    /// The bytes that Apple signs.
    package var signedContent: [UInt8] { ephemeralKey + data + transactionID + applicationData }

    func verifySignature(root: RootCertificate, now: Int) throws(PaymentTokenDefect) {
        let content = signedContent
        var signingTime: Int64 = 0
        // Sound: every pointer comes with the count of its array and lives during the call, which writes one number.
        let status = unsafe root.der.withUnsafeBufferPointer { root in
            unsafe balloon_verify_payment_signature(
                balloon_certificate(bytes: root.baseAddress, count: root.count), signature, signature.count,
                content, content.count, Self.purpose.leaf, Self.purpose.intermediate, &signingTime)
        }
        switch Int(status) {
        case Int(BALLOON_SIGNATURE_VALID): break
        case Int(BALLOON_SIGNATURE_MALFORMED): throw .signatureMalformed
        case Int(BALLOON_SIGNATURE_SIGNER): throw .signer
        case Int(BALLOON_SIGNATURE_WRONG): throw .signature
        case Int(BALLOON_SIGNATURE_TIME): throw .noSigningTime
        case let chain:
            throw .chain(RootCertificate.defect(chain - Int(BALLOON_SIGNATURE_CHAIN)) ?? .memory)
        }
        let (skew, hasOverflowed) = Int(signingTime).subtractingReportingOverflow(now)
        guard !hasOverflowed, skew.magnitude <= Self.maximumSkewSeconds else { throw .signingTime }
    }

    /// Decrypts the token without verifying its signature.
    func decrypt(with keys: [PaymentTokenKey]) throws(PaymentTokenDefect) -> DecryptedPaymentToken {
        guard let key = keys.first(where: { $0.publicKeyHash == publicKeyHash }) else { throw .unknownKey }
        guard let symmetric = key.symmetricKey(with: ephemeralKey) else { throw .sealed }
        let nonce = [UInt8](repeating: 0, count: AES256GCM.nonceBytes)
        guard let plain = AES256GCM.open(data[...], key: symmetric, nonce: nonce) else { throw .sealed }
        return try DecryptedPaymentToken(plain)
    }

    private static func base64(
        _ object: JSONValue?, _ name: String
    ) throws(PaymentTokenDefect) -> [UInt8] {
        guard let text = object?[name]?.string, !text.isEmpty, text.utf8.count <= maximumTextBytes,
            let bytes = Base64.decode(text)
        else { throw .malformed(name) }
        return bytes
    }

    private static func hexadecimal(
        _ object: JSONValue?, _ name: String
    ) throws(PaymentTokenDefect) -> [UInt8] {
        guard let text = object?[name]?.string, text.utf8.count == 64 else { throw .malformed(name) }
        do {
            return try Hex.decode(text)
        } catch {
            throw .malformed(name)
        }
    }
}

/// A decrypted payment token, with the number of a card: never stored or logged.
package struct DecryptedPaymentToken: Sendable {
    /// The token as JSON, which the business passes to its payment provider.
    package let json: Secret
    /// The currency, three digits of ISO 4217.
    package let currencyNumber: String
    /// The amount in the smallest unit of the currency.
    package let amountMinorUnits: Int

    init(_ json: [UInt8]) throws(PaymentTokenDefect) {
        // Drop the JSON error: its position is useless to an operator who must not see the text.
        guard let root = (try? JSONDocument(json, limits: JSONLimits(maximumDepth: 16)))?.root,
            let currency = root["currencyCode"]?.string, currency.utf8.count == 3,
            currency.utf8.allSatisfy(\.isDigit),
            let amount = root["transactionAmount"]?.int, amount >= 0, let secret = try? Secret(json)
        else { throw .content }
        self.json = secret
        currencyNumber = currency
        amountMinorUnits = amount
    }
}
