/// The reason why bytes are refused: the sender's data or the configuration is at fault, as each case states.
package enum WireError: Error, Equatable, Sendable {
    /// Gzip data violates RFC 1952 or RFC 1951, or its CRC or length differs: refuse it; a retry does not
    /// help.
    case gzipMalformed

    /// Gzip data ends inside its last member: refuse it; the sender may have been interrupted.
    case gzipTruncated

    /// Gzip data has trailing bytes that are not a member: refuse it; a retry does not help.
    case gzipTrailingData

    /// Gzip data decompresses to more than `maximumBytes`: refuse it as too large.
    ///
    /// `maximumBytes` is the size limit, or the limit that follows from the maximum ratio.
    case gzipTooLarge(maximumBytes: Int)

    /// Text is not canonical Base64 of the expected alphabet: refuse it, or correct the configuration.
    case base64Malformed

    /// Text is not an even number of hexadecimal digits: refuse it.
    case hexMalformed

    /// A token is not three non-empty parts of unpadded Base64url: refuse it.
    case tokenMalformed

    /// A token's header is not a JSON object with exactly one `alg`, the expected one, and without `crit`:
    /// refuse it.
    case tokenHeader

    /// A token's `x5c` is not three certificates in Base64 of at most 4,096 bytes each: refuse it.
    case tokenCertificates

    /// A certificate chain does not make its leaf trusted, for the stated reason: refuse everything that the
    /// leaf signed.
    case chainRefused(CertificateDefect)

    /// A root certificate is not one self-signed certificate of an authority, of at most 4,096 bytes: correct the
    /// configuration.
    case rootRefused

    /// A token was not signed with our secret: refuse it.
    ///
    /// If every token fails, the configured secret is wrong.
    case tokenSignatureMismatch

    /// A secret is empty, so that anyone could sign with it: correct the configuration.
    case secretEmpty

    /// A key has `actualBytes` instead of the cipher's `expectedBytes`: refuse the content that came with it.
    case keyLength(expectedBytes: Int, actualBytes: Int)

    /// The key field of an attachment does not begin with `00`: refuse it, because its format is unknown.
    case attachmentKeyPrefix

    /// A public key is neither an RSA key of 2,048 to 8,192 bits nor a point on P-256: refuse everything that
    /// it signed.
    case publicKeyRefused

    /// A private key is unusable: correct the configuration.
    ///
    /// The key must be PEM without a password, and an RSA key of 2,048 to 8,192 bits or a P-256 key.
    case signingKeyRefused

    /// A payment processing key is not a P-256 key in PEM, or its certificate does not match: correct the
    /// configuration.
    ///
    /// The certificate may be for another key or for another merchant.
    case paymentKeyRefused

    /// A text cannot be decrypted with our P-384 key: the text was changed, or encrypted to another key.
    case sealedTokenRefused
}
