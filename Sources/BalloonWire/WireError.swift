/// A reason why bytes from outside were not turned into trusted bytes; always the fault of who sent them.
package enum WireError: Error, Equatable, Sendable {
    /// Gzip data breaks RFC 1952 or RFC 1951, or its CRC or length differ: refuse it, a retry will not help.
    case gzipMalformed

    /// Gzip data ends before its last member does: refuse it; the sender may have been cut off.
    case gzipTruncated

    /// Bytes that are no gzip member follow one: refuse it, a retry will not help.
    case gzipTrailingData

    /// Gzip data inflates to more than `maximumBytes`, the limit or what the ratio allows: refuse it as too large.
    case gzipTooLarge(maximumBytes: Int)

    /// Text is not canonical Base64 of the expected alphabet: refuse it, or correct the configuration.
    case base64Malformed

    /// Text is not an even number of hexadecimal digits: refuse it.
    case hexMalformed

    /// A token is not three non-empty parts of unpadded Base64url: refuse it.
    case tokenMalformed

    /// A token was not signed with our secret: refuse it; when all are, the configured secret is wrong.
    case tokenSignatureMismatch

    /// A secret has no bytes: correct the configuration, anyone could sign with it.
    case secretEmpty

    /// A key has `actualBytes` instead of the `expectedBytes` of its cipher: refuse what came with it.
    case keyLength(expectedBytes: Int, actualBytes: Int)

    /// The key field of an attachment does not begin with `00`: refuse it; its format is one we do not know.
    case attachmentKeyPrefix
}
