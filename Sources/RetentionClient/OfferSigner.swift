import BalloonJSON
package import BalloonWire
package import RetentionMessages

/// Signs promotional offers for answers; a signature takes 0.1 ms.
package struct OfferSigner: Sendable {
    private let identity: AppIdentity

    /// Creates a signer with the app's key.
    package init(_ identity: AppIdentity) { self.identity = identity }

    /// Signs an offer for the subscription in `request`; `now` is the signing time in milliseconds since
    /// 1970.
    ///
    /// Throws `WireError.signingKeyRefused`, and only when memory is exhausted.
    package func sign(
        _ offer: RetentionChoice.Offer, for request: RetentionRequest, atMilliseconds now: Int,
        nonce: RetentionID = OfferSigner.newNonce()
    ) throws(WireError) -> SignedOffer {
        let product = offer.product ?? request.productID
        guard offer.usesVersion1 else {
            return .version2(try version2(offer, product, request, now, nonce))
        }
        return .version1(try version1(offer, product, now, nonce))
    }

    /// A new random UUID.
    package static func newNonce() -> RetentionID {
        // The fallback never runs: `RetentionID(hash:)` returns nil for fewer than 16 bytes only.
        RetentionID(hash: randomBytes(16)) ?? newNonce()
    }

    /// A token whose claims name offer, product and subscription (App Store Server libraries,
    /// "promotional offer signature version 2").
    private func version2(
        _ offer: RetentionChoice.Offer, _ product: ProductID, _ request: RetentionRequest, _ now: Int,
        _ nonce: RetentionID
    ) throws(WireError) -> String {
        let claims = JSONWriter.object([
            "iss": identity.issuerID, "bid": identity.bundleID, "aud": "promotional-offer", "iat": now / 1000,
            "nonce": nonce.text, "productId": product.text, "offerIdentifier": offer.identifier,
            "transactionId": request.originalTransactionID,
        ])
        return try identity.key.sign(claims, keyID: identity.keyID)
    }

    /// Signs the fields of the offer, joined by U+2063; the signature is in DER, encoded in Base64.
    private func version1(
        _ offer: RetentionChoice.Offer, _ product: ProductID, _ now: Int, _ nonce: RetentionID
    ) throws(WireError) -> SignedOffer.Version1 {
        let account = offer.appAccountToken?.text ?? ""
        let parts = [
            identity.bundleID, identity.keyID, product.text, offer.identifier, account, nonce.text, "\(now)",
        ]
        let signature = try identity.key.signature(of: Array(parts.joined(separator: "\u{2063}").utf8))
        return SignedOffer.Version1(
            encodedSignature: Base64.encode(derSignature(signature)), productID: product, nonce: nonce,
            timestamp: now, keyID: identity.keyID, offerIdentifier: offer.identifier,
            appAccountToken: offer.appAccountToken)
    }
}

/// The DER encoding of a signature's r and s (RFC 3279 §2.2.3): a sequence of two integers.
private func derSignature(_ signature: [UInt8]) -> [UInt8] {
    let integers = derInteger(signature.prefix(32)) + derInteger(signature.dropFirst(32))
    return [0x30, UInt8(truncatingIfNeeded: integers.count)] + integers
}

/// The DER encoding of a positive integer, at most 35 bytes (X.690 §8.3).
///
/// It has no leading zero bytes, except one when the highest bit of the number would otherwise mean a
/// negative integer.
private func derInteger(_ number: ArraySlice<UInt8>) -> [UInt8] {
    var digits = Array(number.drop { $0 == 0 })
    if digits.isEmpty || digits[0] & 0x80 != 0 { digits.insert(0, at: 0) }
    return [0x02, UInt8(truncatingIfNeeded: digits.count)] + digits
}
