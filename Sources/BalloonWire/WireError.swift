/// The reason why untrusted bytes were refused; always the sender's fault.
package enum WireError: Error, Equatable, Sendable {
    /// Gzip data violates RFC 1952 or RFC 1951, or its CRC or length differs: refuse it; a retry does not
    /// help.
    case gzipMalformed

    /// Gzip data ends inside its last member: refuse it; the sender may have been interrupted.
    case gzipTruncated

    /// Gzip data has trailing bytes that are not a member: refuse it; a retry does not help.
    case gzipTrailingData

    /// Gzip data decompresses to more than `maximumBytes`, by the size limit or the ratio: refuse it as too
    /// large.
    case gzipTooLarge(maximumBytes: Int)

    /// Text is not canonical Base64 of the expected alphabet: refuse it, or correct the configuration.
    case base64Malformed

    /// Text is not an even number of hexadecimal digits: refuse it.
    case hexMalformed

    /// A token is not three non-empty parts of unpadded Base64url: refuse it.
    case tokenMalformed

    /// A token's header is not a JSON object whose one `alg` is the expected one and that has no `crit`: refuse it.
    case tokenHeader

    /// A token's `x5c` is not three certificates in Base64 of at most 4,096 bytes each: refuse it.
    case tokenCertificates

    /// A chain of certificates does not make its leaf trusted, for this reason: refuse what the leaf signed.
    case chainRefused(CertificateDefect)

    /// A root certificate is not one self-signed certificate of an authority, of at most 4,096 bytes: correct the
    /// configuration.
    case rootRefused

    /// A token was not signed with our secret: refuse it. When every token fails, the configured secret is
    /// wrong.
    case tokenSignatureMismatch

    /// A secret is empty, so that anyone could sign with it: correct the configuration.
    case secretEmpty

    /// A key has `actualBytes` instead of the cipher's `expectedBytes`: refuse the content that came with it.
    case keyLength(expectedBytes: Int, actualBytes: Int)

    /// The key field of an attachment does not begin with `00`: refuse it, because its format is unknown.
    case attachmentKeyPrefix

    /// A public key is no RSA key of 2,048 to 8,192 bits and no point on P-256: refuse what it signed.
    case publicKeyRefused

    /// A private key is no PEM text of such a key without a password: correct the configuration.
    case signingKeyRefused

    /// A payment processing key is no P-256 key in PEM, its certificate is for another key, or the certificate is for
    /// another merchant: correct the configuration.
    case paymentKeyRefused

    /// A text that was encrypted to our P-384 key does not open: it was changed, or another key encrypted it.
    case sealedTokenRefused
}
